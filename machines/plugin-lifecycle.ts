import { assign, setup } from 'xstate'
import type { Integrity, PluginFact, Release } from '../src/schema/journal-event.ts'
import type { Config, PluginError } from '../src/schema/plugin.ts'

/**
 * The life of one plugin. Its events are the facts of the journal, so that folding the journal through this
 * machine gives the state at any moment. It is pure: the host performs the effects and reports what came of
 * them as the next fact.
 */

/** A fact as the machine takes it: with the time at which it was written down (ISO 8601). */
export type PluginLifecycleEvent = PluginFact & { at: string }

export interface PluginLifecycleContext {
  id: string
  enabled: boolean
  /** Installed version, or null while nothing is installed. */
  version: string | null
  /** What the repository's index called that version. */
  indexVersion: string | null
  repository: string | null
  config: Config
  integrity: Integrity
  /** What a rollback returns to. */
  previous: Release | null
  /** Why it is in `failed`, or why the last installation came to nothing. */
  error: PluginError | null
  /** How many facts there have been. */
  revision: number
  installedAt: string | null
  updatedAt: string | null
}

const machine = setup({
  types: {
    context: {} as PluginLifecycleContext,
    events: {} as PluginLifecycleEvent,
    // XState's pure `transition()` makes an initial snapshot without input along the way; throwing there is slow.
    input: {} as { id: string } | undefined,
  },
  guards: {
    isEnabled: ({ context }) => context.enabled,
    hasPreviousRelease: ({ context }) => context.previous !== null,
    wasNeverInstalled: ({ context }) => context.installedAt === null,
  },
  actions: {
    count: assign({ revision: ({ context }) => context.revision + 1 }),
    forgetError: assign({ error: null }),
    recordError: assign({ error: ({ event }) => ('error' in event.data ? event.data.error : null) }),
    enable: assign({ enabled: true, error: null, updatedAt: ({ event }) => event.at }),
    disable: assign({ enabled: false, error: null, updatedAt: ({ event }) => event.at }),
    recordInstallation: assign(({ event }) =>
      event.type === 'PluginInstalled'
        ? {
            version: event.data.version,
            indexVersion: event.data.indexVersion,
            repository: event.data.repository,
            integrity: event.data.integrity,
            enabled: false,
            config: {},
            previous: null,
            error: null,
            installedAt: event.at,
            updatedAt: event.at,
          }
        : {},
    ),
    configure: assign(({ event }) =>
      event.type === 'PluginConfigured' ? { config: event.data.config, updatedAt: event.at } : {},
    ),
    replaceRelease: assign(({ context, event }) =>
      event.type === 'PluginUpdated'
        ? {
            version: event.data.version,
            indexVersion: event.data.indexVersion,
            repository: event.data.repository,
            integrity: event.data.integrity,
            previous: releaseOf(context),
            error: null,
            updatedAt: event.at,
          }
        : {},
    ),
    returnToPreviousRelease: assign(({ context, event }) =>
      context.previous === null
        ? {}
        : { ...context.previous, previous: releaseOf(context), error: null, updatedAt: event.at },
    ),
    forgetInstallation: assign({
      enabled: false,
      version: null,
      indexVersion: null,
      repository: null,
      config: {},
      integrity: {},
      previous: null,
      error: null,
    }),
  },
})

function releaseOf(context: PluginLifecycleContext): Release | null {
  const { version, indexVersion, repository, integrity, config } = context
  return version === null ? null : { version, indexVersion, repository, integrity, config }
}

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
    integrity: {},
    previous: null,
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
        PluginConfigured: { actions: ['count', 'configure'] },
        PluginEnabled: { target: 'loading', actions: ['count', 'enable'] },
        PluginUpdated: { actions: ['count', 'replaceRelease'] },
        PluginRolledBack: { guard: 'hasPreviousRelease', actions: ['count', 'returnToPreviousRelease'] },
        PluginUninstalled: { target: 'uninstalled', actions: ['count', 'forgetInstallation'] },
      },
    },
    loading: {
      description: 'Its Lua environment is being built and onInit is running',
      on: {
        PluginLoaded: { target: 'running', actions: ['count', 'forgetError'] },
        PluginLoadFailed: { target: 'failed', actions: ['count', 'recordError'] },
        PluginUnloaded: { target: 'unloaded', actions: 'count' },
      },
    },
    running: {
      description: 'Loaded: timers, pollers and subscriptions are at work',
      on: {
        PluginConfigured: { actions: ['count', 'configure'] },
        PluginDisabled: { target: 'unloading', actions: ['count', 'disable'] },
        PluginUnloadRequested: { target: 'unloading', actions: 'count' },
        PluginCrashed: { target: 'failed', actions: ['count', 'recordError'] },
        PluginUnloaded: { target: 'unloaded', actions: 'count' },
      },
    },
    unloading: {
      description: 'onCleanup is running and its resources are being released',
      on: { PluginUnloaded: { target: 'unloaded', actions: 'count' } },
    },
    unloaded: {
      description: 'Not loaded; all that it had created is gone',
      on: {
        PluginConfigured: { actions: ['count', 'configure'] },
        PluginEnabled: { target: 'loading', actions: ['count', 'enable'] },
        PluginDisabled: { guard: 'isEnabled', actions: ['count', 'disable'] },
        PluginLoadRequested: { guard: 'isEnabled', target: 'loading', actions: ['count', 'forgetError'] },
        PluginUpdated: { actions: ['count', 'replaceRelease'] },
        PluginRolledBack: { guard: 'hasPreviousRelease', actions: ['count', 'returnToPreviousRelease'] },
        PluginUninstalled: { target: 'uninstalled', actions: ['count', 'forgetInstallation'] },
      },
    },
    failed: {
      description: 'Enabled, but not loaded; `error` says why',
      on: {
        PluginConfigured: { actions: ['count', 'configure'] },
        PluginDisabled: { target: 'unloaded', actions: ['count', 'disable'] },
        PluginLoadRequested: { target: 'loading', actions: ['count', 'forgetError'] },
        PluginUpdated: { actions: ['count', 'replaceRelease'] },
        PluginRolledBack: { guard: 'hasPreviousRelease', actions: ['count', 'returnToPreviousRelease'] },
        PluginUninstalled: { target: 'uninstalled', actions: ['count', 'forgetInstallation'] },
      },
    },
    uninstalled: {
      description: 'Removed; its files may still be on disk, and it can be installed again',
      on: { PluginInstallRequested: { target: 'installing', actions: ['count', 'forgetError'] } },
    },
  },
})
