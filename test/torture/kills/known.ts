import { brokenVersion } from './world.ts'

/**
 * What callers were told of a plugin, and what each command makes of it: written from the documents, not with the
 * host's machine, which is what is on trial here.
 */

type Config = Record<string, unknown>

export interface Installed {
  enabled: boolean
  version: string
  config: Config
  limits: Record<string, number>
  /** Version that returns if the present one does not run. */
  trial: string | null
  /** Versions that a rollback can return to, the latest first. */
  kept: Kept[]
}

export interface Kept {
  version: string
  config: Config
  /** It did not run, and was left by itself: a rollback that names no version passes over it. */
  failed?: true
}

/** `undefined`: not installed. */
export type Known = Installed | undefined

/** How many versions the documents promise to keep. */
const keptVersions = 3

export type Change = (before: Known) => Known

/** Commands for a plugin that is installed leave one that is not as it is. */
const installed =
  (change: (before: Installed) => Known): Change =>
  (before) =>
    before === undefined ? undefined : change(before)

export const change = {
  installed:
    (version: string): Change =>
    (before) =>
      before ?? { enabled: false, version, config: {}, limits: {}, trial: null, kept: [] },
  removed: (() => undefined) satisfies Change,
  enabled: (enabled: boolean) => installed((before) => ({ ...before, enabled })),
  flipped: installed((before) => ({ ...before, enabled: !before.enabled })),
  configured: (config: Config) => installed((before) => ({ ...before, config })),
  limited: (limits: Record<string, number>) => installed((before) => ({ ...before, limits })),
  nothing: ((before) => before) satisfies Change,
  updated: (version: string) =>
    installed((before) =>
      version === before.version
        ? before
        : {
            ...before,
            version,
            trial: before.enabled ? before.version : null,
            kept: keptAfter(before, version),
          },
    ),
  rolledBack: (version?: string) =>
    installed((before) => {
      const release = before.kept.find((kept) =>
        version === undefined ? kept.failed !== true : kept.version === version,
      )
      return release === undefined ? before : returned(before, release)
    }),
}

function returned(before: Installed, { version, config }: Kept, failed?: true): Installed {
  return { ...before, version, config, trial: null, kept: keptAfter(before, version, failed) }
}

function keptAfter({ kept, version, config }: Installed, next: string, failed?: true): Kept[] {
  const left = { version, config, ...(failed === undefined ? {} : { failed }) }
  return [left, ...kept.filter((release) => release.version !== next)].slice(0, keptVersions)
}

/** An update that does not run has gone back by itself, once the plugin was to be loaded. */
export const landed: Change = installed((before) => {
  const [release] = before.kept
  const lands = before.enabled && before.version === brokenVersion && before.trial !== null
  return lands && release !== undefined ? returned(before, release, true) : before
})

/** Members in one order, to compare texts. */
export function textOf(known: Known): string {
  if (known === undefined) return 'not installed'
  const { enabled, version, config, limits, trial, kept } = known
  return JSON.stringify({
    enabled,
    version,
    config,
    limits,
    trial,
    kept: kept.map(({ version, config, failed }) => ({ version, config, failed })),
  })
}

export function unique(candidates: readonly Known[]): Known[] {
  return [...new Map(candidates.map((known) => [textOf(known), known])).values()]
}
