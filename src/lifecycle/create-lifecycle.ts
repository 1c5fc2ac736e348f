import type { FileSystem } from '../base/files/file-system.ts'
import type { KeyRing } from '../base/keys/key-ring.ts'
import { createKeyedMutex } from '../base/mutex.ts'
import type { SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import type { PluginDirectory } from '../repository/repository.ts'
import type { Sandbox } from '../sandbox/isolate.ts'
import type { Placement } from '../schema/plugin/fleet-host.ts'
import type { HostFact, Origin, PluginFact } from '../schema/journal/journal-event.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import { createAnnouncements } from './running/announcements.ts'
import { createReconciler } from './supervision/reconciler.ts'
import { createChangeChecker } from './installing/change-checker.ts'
import { createShownManifests } from './installing/shown-manifests.ts'
import { createCommandRunner } from './commands/command-runner.ts'
import { createConfiguration } from './commands/configuration.ts'
import type { LifecycleContext } from './context.ts'
import { createCrashReport } from './loading/crash-report.ts'
import { createDependents } from './supervision/dependents.ts'
import { createEvictions } from './supervision/evictions.ts'
import { createEventHub, type EventHub } from './running/event-hub.ts'
import { createHookRegistry } from './running/hook-registry.ts'
import { createExposureRegistry } from './running/exposure-registry.ts'
import { createHistory } from './queries/history.ts'
import { createInstaller } from './installing/installer.ts'
import type { KeyValueStores } from '../schema/files/key-value-stores.ts'
import { createKeyValueStores } from './stores/key-value-stores.ts'
import type { CommandContext, Lifecycle } from './lifecycle.ts'
import { createFetchQueue } from './running/fetch-queue.ts'
import { createLoadCancellation } from './running/load-cancellation.ts'
import { createLoader } from './loading/loader.ts'
import { createNamespaces } from './trust/namespaces.ts'
import { createObjectRegistry } from './running/object-registry.ts'
import { type Ownership, ownsAll, type SharedFiles } from './ownership.ts'
import { createPluginCommands } from './commands/plugin-commands.ts'
import { createPluginEffects } from './running/plugin-effects.ts'
import type { PluginServicesSettings } from './running/plugin-services.ts'
import { createPlacementCommand } from './commands/placement-command.ts'
import { createPluginHooks } from './commands/plugin-hooks.ts'
import { createHostLogShare } from './running/host-log-share.ts'
import { createPluginLogs } from './running/plugin-logs.ts'
import { createPluginPoints } from './commands/plugin-points.ts'
import { createPluginQueries } from './queries/plugin-queries.ts'
import { createReload } from './loading/reload.ts'
import { createRepositories } from './commands/repositories.ts'
import { defaultRestartPolicy, type RestartPolicy } from './loading/restart-policy.ts'
import { createSafeModeState } from './supervision/safe-mode.ts'
import { createStartAndStop, type StartAndStop } from './supervision/start-and-stop.ts'
import { createPendingPurges } from './stores/pending-purges.ts'
import { createRetainedTopics } from './stores/retained-topics.ts'
import { createHandover, type Handover } from './supervision/handover.ts'
import { createSupervisor } from './supervision/supervisor.ts'
import { createSuggestions } from './queries/suggestions.ts'
import { eventView } from './queries/views.ts'

export interface LifecycleSettings
  extends
    Pick<LifecycleContext, 'journal' | 'repositories' | 'manifests' | 'clock' | 'logger' | 'hostVersion'>,
    Pick<LifecycleContext, 'environment'>,
    Pick<PluginServicesSettings, 'bus' | 'outside' | 'root' | 'hookBase'> {
  /** The data directory. */
  directory: string
  files: FileSystem
  snapshots: SnapshotWriter
  pluginDirectory: PluginDirectory
  /** Encrypts what plugins store. */
  ring: KeyRing
  sandbox: Sandbox
  /** Home Assistant's; empty: it is not told of anything. */
  discoveryPrefix: string
  restartPolicy?: RestartPolicy
  /** Absent: this host works by itself. */
  ownership?: Ownership
  sharedFiles?: SharedFiles
  /** How Home Assistant knows this host; absent: by its own name. */
  announcedAs?: string
  /** Absent: each plugin's in a file of the data directory. */
  stores?: KeyValueStores
  /** 0 up to 1. */
  random?: () => number
}

export interface RunningLifecycle extends Lifecycle, Omit<StartAndStop, 'loadAll'> {
  /** Writes facts about the host itself down. */
  record(facts: readonly HostFact[], by: Origin): Promise<void>
  /** How plugins come from other hosts of a fleet, and go to them. */
  readonly handover: Handover
  /** Replaces where a plugin may run. Also where no host has it. */
  place(id: string, placement: Placement, command: CommandContext): Promise<Plugin>
  /** Carries what a plugin of another host has emitted to those that listen here. */
  readonly events: EventHub
  /** What the plugin has retained there has been cleared by the host: it counts no more. */
  freeRetained(plugin: string, topic: string): void
  /** As `finish` of `recallRequest`, whatever was asked of the plugin. */
  finishLeft(id: string): Promise<void>
  /** As `failure` of the key-value stores. */
  readonly storesFailure: string | undefined
}

/** Puts the parts of the lifecycle together. */
export function createLifecycle(settings: LifecycleSettings): RunningLifecycle {
  const { journal, snapshots, logger, discoveryPrefix } = settings
  const announcements = createAnnouncements(logger)
  const events = createEventHub()
  const registry = createObjectRegistry()
  const exposures = createExposureRegistry()
  const hooks = createHookRegistry()
  const logs = createPluginLogs(createHostLogShare(logger, settings.clock))
  const stores = settings.stores ?? createKeyValueStores(settings)
  const retained = createRetainedTopics(settings)
  const mutex = createKeyedMutex()
  const loads = createLoadCancellation()
  const effects = createPluginEffects({
    ...settings,
    ...{ events, registry, exposures, hooks, logs, stores, retained, announcements },
    hookSecret: (id) => pluginHooks.secret(id),
    onCrash(id, error) {
      loader.recordCrash(id, error)
      void supervisor.recover(id)
    },
    onEvicted: (id, reason, released) => evictions.evicted(id, reason, released),
    onMoveAway: (id, reason, wanted) => evictions.moveAway(id, reason, wanted),
    onLimit(id, limit, value) {
      const data = { limit, value, keepsRevision: true } as const
      const fact: PluginFact = { type: 'PluginLimitReached', plugin: id, data }
      journal.append([fact], 'supervisor').catch((error: unknown) => {
        // The plugin has ended meanwhile, or the disk is full; the line in its log stays.
        logger.debug('A limit that was reached could not be written down', { plugin: id, limit, error })
      })
    },
    owns: (id) => context.ownership.owns(id),
    installedIds: () => queries.installedIds(),
    listPlugins: () => queries.summaries(),
    announces() {
      const id = settings.announcedAs ?? journal.live.host.context.id
      return discoveryPrefix === '' || id === null ? undefined : { prefix: discoveryPrefix, host: id }
    },
  })
  const context: LifecycleContext = {
    ...settings,
    effects,
    directory: settings.pluginDirectory,
    readAtStart: new Map(),
    unverifiedFiles: new Set(),
    stores,
    retained,
    purges: createPendingPurges(settings),
    ownership: settings.ownership ?? ownsAll,
    sharedFiles: settings.sharedFiles,
    mutex,
    loads,
    fetches: createFetchQueue(settings.clock),
    namespaces: createNamespaces(settings),
  }
  const policy = settings.restartPolicy ?? defaultRestartPolicy
  const describeCrash = createCrashReport(context, { logs, policy, random: settings.random ?? Math.random })
  const loader = createLoader(context, describeCrash)
  const shown = createShownManifests(context)
  const installer = createInstaller(context, loader, shown)
  const reconciler = createReconciler(context, { loader, installer, snapshots })
  const supervisor = createSupervisor(context, {
    ...{ loader, installer, snapshots, reconciler },
    stableAfter: policy.stableAfter,
  })
  const dependents = createDependents(context, { loader, installer, reconciler, snapshots })
  const commands = createCommandRunner(context, { loader, snapshots, reconciler })
  const { requireRunning } = commands
  const queries = createPluginQueries(context, logs)
  const { get, installedIds } = queries
  const reload = createReload(context, loader)
  const pluginHooks = createPluginHooks(context, { get, commands, hooks, hookBase: settings.hookBase })
  const evictions = createEvictions({
    ...{ context, loader, installer, snapshots, reconciler, commands, reload },
  })
  const configuration = createConfiguration(context, { get, reload })
  const handover = createHandover(context, {
    ...{ loader, installer, reconciler, snapshots },
    forgetLog: logs.forget,
  })
  // To the end of the journal: that the host has stopped is an event, too.
  journal.subscribe((event) => {
    announcements.announce({ kind: 'lifecycle', event: eventView(event, context) })
  })
  const safeMode = createSafeModeState(context, {
    requireRunning,
    load: (by) => loadAll({ by, reason: 'safe mode left' }),
  })
  const { loadAll, ...startAndStop } = createStartAndStop(context, {
    ...{ bus: settings.bus, loader, installer, reconciler, supervisor, dependents, evictions },
    ...{ snapshots, sandbox: settings.sandbox, commands, installedIds },
  })

  return {
    ...queries,
    checkConfig: configuration.checkConfig,
    suggestions: createSuggestions(context, { ...settings, queries, registry }),
    isIntact: effects.isIntact,
    limits: effects.limits,
    ...createPluginCommands(context, {
      ...{ commands, loader, installer, reload, configuration, logs, get },
      changes: createChangeChecker(context, shown),
    }),
    ...createPluginPoints(context, { get, requireRunning, registry, exposures }),
    hooks: pluginHooks.hooks,
    findHook: pluginHooks.findHook,
    renewHookSecret: pluginHooks.renewHookSecret,
    ...createHistory(context),
    ...createRepositories(context, { requireRunning, snapshots }),

    refusals: effects.refusals,
    connections: (id) => settings.outside.connections(id),
    traffic: () => settings.outside.traffic(),
    recallRequest(requestKey) {
      const plugin = journal.recallRequest(requestKey)
      return plugin === undefined ? undefined : { plugin, finish: () => reconciler.now(plugin) }
    },
    subscribe: announcements.subscribe,
    get safeMode() {
      return safeMode.present
    },
    leaveSafeMode: safeMode.leave,
    get firstSeq() {
      return journal.first
    },
    get lastSeq() {
      return journal.live.seq
    },

    async record(facts, by) {
      await journal.append(facts, by)
    },
    handover,
    finishLeft: reconciler.now,
    place: createPlacementCommand(context, { get, requireRunning, snapshots, reconciler }),
    events,
    freeRetained: (plugin, topic) => void retained.take(plugin, topic, 0),
    get storesFailure() {
      return stores.failure
    },
    ...startAndStop,
  }
}
