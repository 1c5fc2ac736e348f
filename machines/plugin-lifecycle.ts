import { assign, setup } from 'xstate'
import type { Integrity, PluginFact } from '../src/schema/journal/journal-event.ts'
import type { PluginContext } from '../src/schema/journal/stored-state.ts'

/**
 * The life of one plugin. Its events are the facts of the journal, so that folding the journal through this
 * machine gives the state at any moment. It is pure: the host performs the effects and reports what came of
 * them as the next fact.
 */

/** A fact as the machine takes it: with the time at which it was written down (ISO 8601). */
export type PluginLifecycleEvent = PluginFact & { at: string }

/** How many versions that were replaced are kept for the way back: disks of small boards are small. */
export const keptVersions = 3

/** A version that was replaced. */
export type KeptRelease = PluginContext['kept'][number]

const machine = setup({
  types: {
    context: {} as PluginContext,
    events: {} as PluginLifecycleEvent,
    // XState's pure `transition()` makes an initial snapshot without input along the way; throwing there is slow.
    input: {} as { id: string } | undefined,
  },
  guards: {
    isEnabled: ({ context }) => context.enabled,
    isKept: ({ context, event }) =>
      event.type === 'PluginRolledBack' && keptRelease(context, event.data.version) !== undefined,
    isDeferred: ({ event }) => event.type === 'PluginEnabled' && event.data.deferred === true,
    isNewerEpoch: ({ context, event }) =>
      event.type === 'PluginMoved' && event.data.epoch > (context.epoch ?? 0),
    wasNeverInstalled: ({ context }) => context.installedAt === null,
  },
  actions: {
    count: assign({ revision: ({ context }) => context.revision + 1, restart: null }),
    countUnlessKept: assign(({ context, event }) =>
      'keepsRevision' in event.data ? {} : { revision: context.revision + 1 },
    ),
    prepareLoad: assign(({ context, event }) => ({
      error: null,
      crashes: event.type === 'PluginLoadRequested' && event.data.automatic === true ? context.crashes : 0,
    })),
    recordLoad: assign(({ event }) => ({
      error: null,
      changedFiles: event.type === 'PluginLoaded' ? (event.data.changedFiles ?? []) : [],
    })),
    recordCrash: assign(({ context, event }) =>
      event.type === 'PluginCrashed'
        ? {
            error: event.data.error,
            crashes: event.data.crashes ?? context.crashes + 1,
            restart: event.data.restart ?? null,
          }
        : {},
    ),
    recordStability: assign({ crashes: 0, trial: null }),
    forgetError: assign({ error: null }),
    recordError: assign({ error: ({ event }) => ('error' in event.data ? event.data.error : null) }),
    recordLoadFailure: assign(({ event }) => {
      if (event.type !== 'PluginLoadFailed') return {}
      const { error, changedFiles, restart = null } = event.data
      return { error, restart, ...(changedFiles === undefined ? {} : { changedFiles }) }
    }),
    enable: assign({ enabled: true, error: null, crashes: 0, updatedAt: ({ event }) => event.at }),
    disable: assign({ enabled: false, error: null, crashes: 0, updatedAt: ({ event }) => event.at }),
    recordInstallation: assign(({ context, event }) =>
      event.type === 'PluginInstalled'
        ? {
            version: event.data.version,
            indexVersion: event.data.indexVersion,
            repository: event.data.repository,
            integrity: event.data.integrity,
            enabled: false,
            config: {},
            limits: {},
            limitsReached: [],
            kept: [],
            trial: null,
            crashes: 0,
            changedFiles: [],
            error: null,
            installedAt: event.at,
            updatedAt: event.at,
            ...withFormerSecrets(context, event),
          }
        : {},
    ),
    configure: assign(({ event }) =>
      event.type === 'PluginConfigured' ? { config: event.data.config, crashes: 0, updatedAt: event.at } : {},
    ),
    changeLimits: assign(({ event }) =>
      event.type === 'PluginLimitsChanged' ? { limits: event.data.limits, updatedAt: event.at } : {},
    ),
    recordHookSecret: assign(({ event }) =>
      event.type === 'PluginHookSecretChanged' ? { hookSecret: event.data.hookSecret } : {},
    ),
    recordLimit: assign(({ context, event }) =>
      event.type === 'PluginLimitReached'
        ? {
            limitsReached: [
              ...context.limitsReached.filter(({ limit }) => limit !== event.data.limit),
              { ...event.data, at: event.at },
            ],
          }
        : {},
    ),
    place: assign(({ event }) =>
      event.type === 'PluginPlaced' ? { placement: event.data.placement, updatedAt: event.at } : {},
    ),
    recordMove: assign(({ event }) =>
      event.type === 'PluginMoved' ? { host: event.data.to, epoch: event.data.epoch } : {},
    ),
    forgetReachedLimits: assign({ limitsReached: [] }),
    replaceRelease: assign(({ context, event }) =>
      event.type === 'PluginUpdated'
        ? {
            version: event.data.version,
            indexVersion: event.data.indexVersion,
            repository: event.data.repository,
            integrity: event.data.integrity,
            kept: withReplaced(context, event.at, event.data.integrity),
            trial:
              context.enabled && context.version !== null ? { from: context.version, since: event.at } : null,
            crashes: 0,
            changedFiles: [],
            error: null,
            updatedAt: event.at,
            ...withFormerSecrets(context, event),
          }
        : {},
    ),
    recordFiles: assign(({ context, event }) => {
      if (event.type !== 'PluginFilesRestored') return {}
      const { version, indexVersion, repository, integrity } = event.data
      return { version, indexVersion, repository, integrity, ...withFormerSecrets(context, event) }
    }),
    recordIndexVersion: assign(({ event }) =>
      event.type === 'PluginVersionConfirmed' ? { indexVersion: event.data.indexVersion } : {},
    ),
    returnToRelease: assign(({ context, event }) => {
      if (event.type !== 'PluginRolledBack') return {}
      const { version, automatic } = event.data
      const found = keptRelease(context, version)
      if (found === undefined) return {}
      const { keptAt: _keptAt, failed: _failed, ...release } = found
      return {
        ...release,
        kept: withReplaced(context, event.at, release.integrity, automatic === true ? { failed: true } : {}),
        trial: null,
        crashes: 0,
        changedFiles: [],
        error: null,
        updatedAt: event.at,
        ...withFormerSecrets(context, event),
      }
    }),
    forgetInstallation: assign(({ context, event }) => ({
      enabled: false,
      version: null,
      indexVersion: null,
      repository: null,
      config: {},
      limits: {},
      hookSecret: undefined,
      placement: undefined,
      limitsReached: [],
      integrity: {},
      kept: [],
      trial: null,
      crashes: 0,
      changedFiles: [],
      error: null,
      ...withFormerSecrets(context, event),
    })),
  },
})

function withFormerSecrets(
  { formerSecrets: known = [] }: PluginContext,
  { data }: PluginLifecycleEvent,
): Pick<PluginContext, 'formerSecrets'> {
  const added = 'formerSecrets' in data ? (data.formerSecrets ?? []) : []
  return added.length === 0 ? {} : { formerSecrets: [...new Set([...known, ...added])] }
}

/**
 * Which of the kept versions a rollback means: the latest of this version, or the latest of all. A repository may have
 * published other files under one version: those that ran are meant then.
 */
export function keptRelease(
  { kept }: Pick<PluginContext, 'kept'>,
  version: string | undefined,
): KeptRelease | undefined {
  if (version === undefined) return kept[0]
  const named = kept.filter((release) => release.version === version)
  return named.find(({ failed }) => failed !== true) ?? named[0]
}

/** The kept versions once the present one has been replaced by that of these files. */
function withReplaced(
  context: PluginContext,
  at: string,
  by: Integrity,
  outcome: Pick<KeptRelease, 'failed'> = {},
): KeptRelease[] {
  const { version, indexVersion, repository, integrity, config, kept } = context
  if (version === null) return kept
  const replaced = { version, indexVersion, repository, integrity, config, keptAt: at, ...outcome }
  return [replaced, ...kept.filter((release) => !isSame(release.integrity, by))].slice(0, keptVersions)
}

function isSame(left: Integrity, right: Integrity): boolean {
  const files = Object.keys(left)
  return files.length === Object.keys(right).length && files.every((file) => left[file] === right[file])
}

/** What changes while nothing of the plugin is loaded. */
const files = {
  PluginUpdated: { actions: ['count', 'replaceRelease'] },
  PluginFilesRestored: { actions: ['count', 'recordFiles'] },
  PluginVersionConfirmed: { actions: ['countUnlessKept', 'recordIndexVersion'] },
  PluginRolledBack: { guard: 'isKept', actions: ['count', 'returnToRelease'] },
  PluginUninstalled: { target: 'uninstalled', actions: ['count', 'forgetInstallation'] },
} as const

/** What its owner sets, unless it is just being loaded or unloaded. */
const settings = {
  PluginConfigured: { actions: ['count', 'configure'] },
  PluginLimitsChanged: { actions: ['count', 'changeLimits'] },
  PluginHookSecretChanged: { actions: ['countUnlessKept', 'recordHookSecret'] },
} as const

/** Of a fleet: where it may run, and which host has it. */
const placement = {
  PluginPlaced: { actions: ['countUnlessKept', 'place'] },
  PluginMoved: { guard: 'isNewerEpoch', actions: ['countUnlessKept', 'recordMove'] },
} as const

export const pluginLifecycle = machine.createMachine({
  id: 'plugin-lifecycle',
  description: 'The life of one plugin, from its installation to its removal',
  context: ({ input }) => ({
    id: input?.id ?? '',
    enabled: false,
    version: null,
    indexVersion: null,
    repository: null,
    config: {},
    limits: {},
    limitsReached: [],
    integrity: {},
    kept: [],
    trial: null,
    crashes: 0,
    restart: null,
    changedFiles: [],
    error: null,
    revision: 0,
    installedAt: null,
    updatedAt: null,
  }),
  initial: 'notInstalled',
  states: {
    notInstalled: {
      description: 'Nothing of the plugin is on this host',
      on: { PluginInstallRequested: { target: 'installing', actions: ['count', 'forgetError'] } },
    },
    installing: {
      description: 'Its files have been fetched and checked, and are being put in place',
      on: {
        PluginInstalled: { target: 'installed', actions: ['count', 'recordInstallation'] },
        PluginInstallFailed: [
          { guard: 'wasNeverInstalled', target: 'notInstalled', actions: ['count', 'recordError'] },
          { target: 'uninstalled', actions: ['count', 'recordError'] },
        ],
      },
    },
    installed: {
      description: 'Installed and disabled; it has not been enabled since',
      on: {
        ...settings,
        PluginEnabled: [
          { guard: 'isDeferred', target: 'unloaded', actions: ['count', 'enable'] },
          { target: 'loading', actions: ['count', 'enable', 'forgetReachedLimits'] },
        ],
        ...files,
        ...placement,
      },
    },
    loading: {
      description: 'Its Lua environment is being built and onInit is running',
      on: {
        PluginHookSecretChanged: { actions: ['countUnlessKept', 'recordHookSecret'] },
        PluginLimitReached: { actions: ['countUnlessKept', 'recordLimit'] },
        PluginFilesRestored: { actions: ['count', 'recordFiles'] },
        PluginLoaded: { target: 'running', actions: ['count', 'recordLoad'] },
        PluginLoadFailed: { target: 'failed', actions: ['count', 'recordLoadFailure'] },
        PluginUnloaded: { target: 'unloaded', actions: 'count' },
        ...placement,
      },
    },
    running: {
      description: 'Loaded: timers, pollers and subscriptions are at work',
      on: {
        ...settings,
        PluginLimitReached: { actions: ['countUnlessKept', 'recordLimit'] },
        PluginDisabled: { target: 'unloading', actions: ['count', 'disable'] },
        PluginUnloadRequested: { target: 'unloading', actions: 'count' },
        PluginCrashed: { target: 'failed', actions: ['count', 'recordCrash'] },
        PluginStabilized: { actions: ['countUnlessKept', 'recordStability'] },
        PluginVersionConfirmed: { actions: ['countUnlessKept', 'recordIndexVersion'] },
        PluginUnloaded: { target: 'unloaded', actions: 'count' },
        ...placement,
      },
    },
    unloading: {
      description: 'onCleanup is running and its resources are being released',
      on: {
        PluginHookSecretChanged: { actions: ['countUnlessKept', 'recordHookSecret'] },
        PluginLimitReached: { actions: ['countUnlessKept', 'recordLimit'] },
        PluginUnloaded: { target: 'unloaded', actions: 'count' },
        ...placement,
      },
    },
    unloaded: {
      description: 'Not loaded; all that it had created is gone',
      on: {
        ...settings,
        PluginEnabled: [
          { guard: 'isDeferred', target: 'unloaded', actions: ['count', 'enable'] },
          { target: 'loading', actions: ['count', 'enable', 'forgetReachedLimits'] },
        ],
        PluginDisabled: { guard: 'isEnabled', actions: ['count', 'disable'] },
        PluginLoadRequested: {
          guard: 'isEnabled',
          target: 'loading',
          actions: ['count', 'prepareLoad', 'forgetReachedLimits'],
        },
        ...files,
        ...placement,
      },
    },
    failed: {
      description: 'Enabled, but not loaded; `error` says why',
      on: {
        ...settings,
        PluginDisabled: { target: 'unloaded', actions: ['count', 'disable'] },
        PluginLoadRequested: { target: 'loading', actions: ['count', 'prepareLoad', 'forgetReachedLimits'] },
        ...files,
        ...placement,
      },
    },
    uninstalled: {
      description: 'Removed; its files may still be on disk, and it can be installed again',
      on: { PluginInstallRequested: { target: 'installing', actions: ['count', 'forgetError'] } },
    },
  },
})
