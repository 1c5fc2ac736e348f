/**
 * Takes the base path off the target of a request: a proxy may show the host below a path (`/lupine` of
 * `https://home.example/lupine`), and not every request has lost it on the way, as that of a page that was called at the host's own
 * address.
 *
 * `basePath`: without a slash at its end; empty: the host has a name of its own. `own`: paths that the host itself answers. A
 * base that begins as one of them does is the proxy's to take off.
 */
export function createBasePathStripper(basePath: string, own: readonly string[]): (target: string) => string {
  const isOwn = own.some((one) => firstPart(one) === firstPart(basePath))
  return (target) => {
    if (basePath === '' || isOwn || !target.startsWith(basePath)) return target
    const rest = target.slice(basePath.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : target
  }
}

/** Of the address under which others reach this host. */
export function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}

function firstPart(path: string): string | undefined {
  return path.split('/')[1]
}
