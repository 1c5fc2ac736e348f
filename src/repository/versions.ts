import { coerce, gte, intersects, parse, Range, type SemVer, satisfies as semverSatisfies } from 'semver'

/** Semantic versions, total: what is no version is newer than nothing and satisfies nothing. */

function read(version: string): SemVer | null {
  return parse(version, { loose: true })
}

/** Whether `candidate` is a later version than `current`. Build metadata does not count. */
export function isNewer(candidate: string, current: string): boolean {
  const [left, right] = [read(candidate), read(current)]
  return left !== null && right !== null && left.compare(right) > 0
}

/** Whether both texts name one version: `v1.2.3` is `1.2.3`. */
export function isSameVersion(left: string, right: string): boolean {
  const [first, second] = [read(left), read(right)]
  if (first === null || second === null) return left === right
  return first.compare(second) === 0 && first.compareBuild(second) === 0
}

/**
 * The newest first; what is one version but for its build stays in its order. Each is read once: an index may list many
 * thousands, and the host does nothing else meanwhile.
 */
export function newestFirst<T extends { readonly version: string }>(entries: readonly T[]): T[] {
  return entries
    .map((entry) => ({ entry, version: read(entry.version) }))
    .sort(({ version: left }, { version: right }) => {
      if (left === null || right === null) return Number(left === null) - Number(right === null)
      return right.compare(left)
    })
    .map(({ entry }) => entry)
}

/** Whether it comes before the release that it names: `1.3.0-beta.1`. */
export function isPrerelease(version: string): boolean {
  return (read(version)?.prerelease.length ?? 0) > 0
}

/**
 * Characters of a range, as many as a version may have. Whether two of them agree is found out part by part: of very long ones
 * it takes hours.
 */
const rangeLength = 256

export function isVersionRange(range: string): boolean {
  if (range.length > rangeLength) return false
  try {
    new Range(range, { loose: true })
    return true
  } catch {
    return false
  }
}

/**
 * Whether `version` lies in an npm-style range (`^1.2.0`, `>=1 <3`, `1.x`). A prerelease counts as what it
 * is, a version below its release: `1.3.0-beta.1` satisfies `^1.2.0`, and `2.0.0-beta.1` does not.
 */
export function satisfies(version: string, range: string): boolean {
  return semverSatisfies(version, range, { loose: true, includePrerelease: true })
}

/** Whether a version can lie in both ranges. */
export function canAgree(left: string, right: string): boolean {
  return intersects(left, right, { loose: true, includePrerelease: true })
}

/**
 * Whether a host of `hostVersion` is new enough. A prerelease host counts as the release it leads to, since
 * it has what that release brings; `1.0.0-beta.1` runs what asks for `1.0.0`.
 */
export function hostSupports(minHostVersion: string, hostVersion: string): boolean {
  const [needed, host] = [read(minHostVersion), read(hostVersion)]
  if (needed === null || host === null) return false
  if (gte(host, needed)) return true
  const release = coerce(hostVersion)
  return needed.prerelease.length === 0 && release !== null && gte(release, needed)
}
