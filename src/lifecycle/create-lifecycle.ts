import { pluginLifecycle } from '../../machines/plugin-lifecycle.ts'
import type { Clock, ScheduledCall } from '../base/clock.ts'
import type { FileSystem } from '../base/file-system.ts'
import type { Json } from '../base/json.ts'
import type { KeyRing } from '../base/key-ring.ts'
import type { Logger } from '../base/log.ts'
import { createKeyedMutex } from '../base/mutex.ts'
import { messageOf, Problem } from '../base/problem.ts'
import type { Bus } from '../bus/bus.ts'
import { decide, requireInstalled, requireRevision } from '../journal/decide.ts'
import { stateOf } from '../journal/evolve.ts'
import type { Journal } from '../journal/journal.ts'
import { isInstalled, type SnapshotWriter } from '../journal/snapshot.ts'
import type { Outside } from '../outside/outside.ts'
import type { PluginDirectory, RepositoryCatalog, RepositoryStatus } from '../repository/repository.ts'
import { hostSupports, isNewer } from '../repository/versions.ts'
import type { Sandbox } from '../sandbox/isolate.ts'
import type { Exposure } from '../schema/exposure.ts'
import type { HostFile } from '../schema/host-file.ts'
import { identifierOf, isIdentifierPart, parseFullId, type PluginIdentifier } from '../schema/identifier.ts'
import type { HostFact, Origin, PluginFact } from '../schema/journal-event.ts'
import type { Config, Plugin } from '../schema/plugin.ts'
import { withoutCredentials } from './address.ts'
import { createAnnouncements } from './announcements.ts'
import { createChangeChecker } from './change-checker.ts'
import { checkConfig } from './config-rules.ts'
import { configuredRepositories, type LifecycleContext, snapshotOfPlugin } from './context.ts'
import { checkControlValue } from './control-value.ts'
import { createEventHub } from './event-hub.ts'
import { checkExposedControl, checkExposedValue } from './exposed-value.ts'
import { createExposureRegistry } from './exposure-registry.ts'
import { createInstaller } from './installer.ts'
import { createKeyValueStores } from './key-value-stores.ts'
import type {
  CommandContext,
  ConfigCheck,
  InstallRequest,
  Lifecycle,
  PluginDocument,
  PointView,
} from './lifecycle.ts'
import { createLoader } from './loader.ts'
import type { Manifests } from './manifests.ts'
import { createObjectRegistry, type PointKind } from './object-registry.ts'
import { createPluginEffects } from './plugin-effects.ts'
import { createPluginLogs } from './plugin-logs.ts'
import { decideRestart, defaultRestartPolicy, type RestartPolicy } from './restart-policy.ts'
import { hideSecrets, restoreHidden, restoreSecrets } from './secrets.ts'
import { applyHandEdits, loadEnabledPlugins, recoverPlugins, unloadAllPlugins } from './startup.ts'
import { eventView, pluginView, statesAt } from './views.ts'

/** Most events that one answer about the history holds. */
const historyLimit = 10_000

export interface LifecycleSettings {
  /** The data directory. */
  directory: string
  files: FileSystem
  journal: Journal
  snapshots: SnapshotWriter
  pluginDirectory: PluginDirectory
  /** What is known of the installed plugins; the lifecycle fills it. */
  manifests: Manifests
  /** Encrypts what plugins store. */
  ring: KeyRing
  repositories: RepositoryCatalog
  sandbox: Sandbox
  bus: Bus
  outside: Outside
  root: string
  clock: Clock
  logger: Logger
  hostVersion: string
  environment: Readonly<Record<string, string | undefined>>
  restartPolicy?: RestartPolicy
  /** 0 up to 1. */
  random?: () => number
}

export interface RunningLifecycle extends Lifecycle {
  /** Writes facts about the host itself down. */
  record(facts: readonly HostFact[], by: Origin): Promise<void>
  /** Recovers from a crash and takes over what a person changed in `.host.json`. */
  prepare(file: HostFile | undefined): Promise<void>
  /** Loads every enabled plugin. */
  start(): Promise<void>
  /** Refuses further commands, waits for those under way, unloads every plugin. Idempotent. */
  stop(): Promise<void>
}

export function createLifecycle(settings: LifecycleSettings): RunningLifecycle {
  const { journal, snapshots, manifests, clock, logger, hostVersion } = settings
  const policy = settings.restartPolicy ?? defaultRestartPolicy
  const random = settings.random ?? Math.random
  const announcements = createAnnouncements(logger)
  const registry = createObjectRegistry()
  const exposures = createExposureRegistry()
  const logs = createPluginLogs()
  const stores = createKeyValueStores(settings)
  const mutex = createKeyedMutex()
  const effects = createPluginEffects({
    ...settings,
    events: createEventHub(),
    registry,
    exposures,
    logs,
    stores,
    announcements,
    onCrash: (id, error) => {
      loader.recordCrash(id, error)
      void recoverFromCrash(id)
    },
    listPlugins: () =>
      installedIds().map((id) => {
        const { shortId, name, version, description, enabled } = get(id)
        return { id, shortId, name, version, description, enabled }
      }),
  })
  const context: LifecycleContext = {
    journal,
    effects,
    directory: settings.pluginDirectory,
    repositories: settings.repositories,
    manifests,
    stores,
    mutex,
    clock,
    logger,
    hostVersion,
    environment: settings.environment,
  }
  const loader = createLoader(context)
  const installer = createInstaller(context, loader)
  const changes = createChangeChecker(context)
  const restarts = new Map<string, { crashes: number[]; timer: ScheduledCall | undefined }>()
  let stopping: Promise<void> | undefined

  const stopListening = journal.subscribe((event) => {
    announcements.announce({ kind: 'lifecycle', event: eventView(event, manifests.knownFields) })
  })

  async function recoverFromCrash(id: string): Promise<void> {
    try {
      await mutex.run(id, () => loader.settle(id))
      await snapshots.flush()
      if (stopping === undefined) scheduleRestart(id)
    } catch (error) {
      logger.error('The crash of a plugin could not be written down', { plugin: id, error: messageOf(error) })
    }
  }

  function scheduleRestart(id: string): void {
    const restart = restarts.get(id) ?? { crashes: [], timer: undefined }
    restarts.set(id, restart)
    // Not the time of day: that may jump, and old crashes would count again.
    const now = clock.monotonic()
    restart.crashes = [...restart.crashes.filter((at) => now - at < policy.window), now]
    const decision = decideRestart(policy, restart.crashes, now, random())
    if (!decision.restart) {
      logger.error('A plugin crashed too often and stays down until somebody starts it', {
        plugin: id,
        crashes: decision.crashes,
      })
      return
    }
    restart.timer?.cancel()
    restart.timer = clock.schedule(decision.delay, () => {
      restart.timer = undefined
      void restartAfterCrash(id)
    })
  }

  async function restartAfterCrash(id: string): Promise<void> {
    try {
      await mutex.run(id, async () => {
        if (stopping !== undefined || stateOf(snapshotOfPlugin(context, id)) !== 'failed') return
        await journal.append(
          decide(snapshotOfPlugin(context, id), { type: 'load', reason: 'restart after a crash' }),
          'supervisor',
        )
        await loader.finishLoading(id, 'supervisor')
      })
      await snapshots.flush()
    } catch (error) {
      logger.error('A plugin could not be restarted', { plugin: id, error: messageOf(error) })
    }
  }

  /** A person's command starts the crash budget anew. */
  function forgetCrashes(id: string): void {
    restarts.get(id)?.timer?.cancel()
    restarts.delete(id)
  }

  /** Runs a command for one plugin after those before it; answers its outcome when all is on disk. */
  async function command<T>(
    { expectedRevision }: CommandContext,
    id: string,
    task: () => Promise<void>,
    outcome: () => T,
  ): Promise<T> {
    requireRunning()
    const result = await mutex.run(id, async () => {
      requireRunning()
      requireRevision(snapshotOfPlugin(context, id), expectedRevision)
      await loader.settle(id)
      forgetCrashes(id)
      await task()
      // Before the next command changes it again.
      return outcome()
    })
    await snapshots.flush()
    return result
  }

  function pluginCommand(by: CommandContext, id: string, task: () => Promise<void>): Promise<Plugin> {
    return command(by, id, task, () => get(id))
  }

  function requireRunning(): void {
    if (stopping !== undefined) {
      throw new Problem('shutting_down', 'The host is shutting down; try again when it is back.')
    }
  }

  async function reloadWith(
    id: string,
    facts: PluginFact[],
    reason: string,
    by: CommandContext,
  ): Promise<void> {
    const snapshot = snapshotOfPlugin(context, id)
    const { enabled } = snapshot.context
    const load: PluginFact = { type: 'PluginLoadRequested', plugin: id, data: { reason } }
    if (stateOf(snapshot) === 'running') {
      const unload: PluginFact = { type: 'PluginUnloadRequested', plugin: id, data: { reason } }
      await journal.append([...facts, unload], by.by, by.requestKey)
      await loader.finishUnloading(id, by.by, [load])
      await loader.finishLoading(id, by.by)
    } else if (enabled) {
      await journal.append([...facts, load], by.by, by.requestKey)
      await loader.finishLoading(id, by.by)
    } else if (facts.length > 0) {
      await journal.append(facts, by.by, by.requestKey)
    }
  }

  function get(id: string): Plugin {
    const snapshot = snapshotOfPlugin(context, id)
    requireInstalled(snapshot)
    return pluginView(snapshot, manifests.get(id), manifests.fields(id), effects.resources(id))
  }

  function installedIds(): string[] {
    return [...journal.state.plugins.values()]
      .filter((snapshot) => isInstalled(stateOf(snapshot)))
      .map((snapshot) => snapshot.context.id)
      .sort()
  }

  function points(id: string, kind: PointKind): PointView[] {
    get(id)
    const exports = manifests.get(id)?.exports
    const declared = new Map(
      (kind === 'sensor' ? exports?.sensors : exports?.controls)?.map((entry) => [entry.id, entry]),
    )
    return [...registry.points(id, kind)].map(([point, value]) => {
      const { description, unit, range, ...more }: Partial<PointView> = declared.get(point) ?? {}
      const type = more.type ?? (kind === 'control' ? exposureOf(id, point)?.type : undefined)
      return {
        id: point,
        value: value ?? null,
        ...(type === undefined ? {} : { type }),
        ...(description === undefined ? {} : { description }),
        ...(unit === undefined ? {} : { unit }),
        ...(range === undefined ? {} : { range }),
      }
    })
  }

  /** How a control is exposed, if it is. */
  function exposureOf(id: string, control: string): Exposure | undefined {
    return exposures.list(id).find(({ exposure }) => exposure.control === control)?.exposure
  }

  function checkedConfig(
    id: string,
    incoming: Config,
  ): { stored: Config; check: ReturnType<typeof checkConfig> } {
    const fields = manifests.fields(id)
    const before = snapshotOfPlugin(context, id).context.config
    const stored =
      manifests.get(id) === undefined
        ? restoreHidden(incoming, before)
        : restoreSecrets(fields, incoming, before)
    return { stored, check: checkConfig(fields, stored, context.environment) }
  }

  function checkConfigOf(id: string, config: Config): ConfigCheck {
    get(id)
    const { errors, missing, effective } = checkedConfig(id, config).check
    const wrong = [...errors, ...missing]
    return {
      valid: wrong.length === 0,
      errors: wrong,
      effective: hideSecrets(manifests.fields(id), effective),
    }
  }

  async function repositoryStatuses(wanted: (name: string) => boolean): Promise<RepositoryStatus[]> {
    const chosen = configuredRepositories(context).filter(({ name }) => wanted(name))
    const statuses = await context.repositories.statuses(chosen)
    return statuses.map((status) => ({ ...status, url: withoutCredentials(status.url) }))
  }

  async function repositoryStatus(name: string): Promise<RepositoryStatus> {
    const [status] = await repositoryStatuses((other) => other === name)
    if (status === undefined) throw new Problem('repository_unknown', `There is no repository named ${name}.`)
    return status
  }

  function requireIdentifier(request: InstallRequest): PluginIdentifier {
    const identifier = parseFullId(request.fullId)
    if (identifier === undefined) {
      const errors = [{ path: '/fullId', message: 'must be @namespace/shortId' }]
      throw new Problem('body_invalid', 'fullId must have the form @namespace/shortId.', { errors })
    }
    if (request.id !== undefined && request.id !== identifier.shortId && request.id !== identifier.fullId) {
      const errors = [{ path: '/id', message: `must be ${identifier.shortId}, to match fullId` }]
      throw new Problem('body_invalid', `id and fullId name different plugins.`, { errors })
    }
    return identifier
  }

  return {
    resolveId(text) {
      const identifier = parseFullId(text)
      if (identifier !== undefined) return identifier.fullId
      const matching = isIdentifierPart(text)
        ? installedIds().filter((id) => identifierOf(id).shortId === text)
        : []
      const [id] = matching
      if (id === undefined) {
        throw new Problem('plugin_not_installed', `No installed plugin is called ${JSON.stringify(text)}.`)
      }
      if (matching.length > 1) {
        throw new Problem('ambiguous_id', `${text} may be ${matching.join(' or ')}; use the full id.`)
      }
      return id
    },
    list: () => installedIds().map(get),
    get,
    async install(request, by) {
      const { fullId } = requireIdentifier(request)
      return pluginCommand(by, fullId, () => installer.install(request, by))
    },
    async checkInstall(request) {
      requireRunning()
      requireIdentifier(request)
      return changes.install(request)
    },
    async checkUpdate(id, version) {
      requireRunning()
      return changes.update(id, version)
    },
    async toggle(id, enabled, by) {
      return pluginCommand(by, id, async () => {
        const facts = decide(snapshotOfPlugin(context, id), { type: 'toggle', enabled })
        if (facts.length === 0) return
        await journal.append(facts, by.by, by.requestKey)
        const state = stateOf(snapshotOfPlugin(context, id))
        if (state === 'loading') await loader.finishLoading(id, by.by)
        if (state === 'unloading') await loader.finishUnloading(id, by.by)
      })
    },
    async configure(id, config, by) {
      return pluginCommand(by, id, async () => {
        const snapshot = snapshotOfPlugin(context, id)
        requireInstalled(snapshot)
        const { stored, check } = checkedConfig(id, config)
        // A disabled plugin may be configured bit by bit; a running one must not be left without what it needs.
        const wrong = snapshot.context.enabled ? [...check.errors, ...check.missing] : check.errors
        if (wrong.length > 0) {
          throw new Problem(
            'config_invalid',
            `The configuration of ${id} was not saved: ${wrong.length} of its values cannot be used.`,
            {
              errors: wrong,
            },
          )
        }
        await reloadWith(id, decide(snapshot, { type: 'configure', config: stored }), 'config', by)
      })
    },
    checkConfig: checkConfigOf,
    async reload(id, by) {
      return pluginCommand(by, id, async () => {
        decide(snapshotOfPlugin(context, id), { type: 'reload' })
        await reloadWith(id, [], 'reload', by)
      })
    },
    async update(id, version, by) {
      return pluginCommand(by, id, () => {
        requireInstalled(snapshotOfPlugin(context, id))
        return installer.update(id, version, by)
      })
    },
    async rollback(id, by) {
      return pluginCommand(by, id, () => {
        requireInstalled(snapshotOfPlugin(context, id))
        return installer.rollback(id, 'asked for', by)
      })
    },
    async uninstall(id, purge, by) {
      const task = (): Promise<void> => {
        requireInstalled(snapshotOfPlugin(context, id))
        return installer.uninstall(id, purge, by)
      }
      return command(by, id, task, () => {
        logs.forget(id)
        return { id, state: 'uninstalled' as const }
      })
    },

    async document(id, file): Promise<PluginDocument> {
      const plugin = get(id)
      const listed = plugin.docs.find((document) => document.file === file)
      if (listed === undefined) {
        throw new Problem('doc_not_found', `The manifest of ${id} lists no document ${JSON.stringify(file)}.`)
      }
      return { ...listed, content: await settings.pluginDirectory.readDocument(identifierOf(id), file) }
    },
    logs(id, filter) {
      get(id)
      return logs.read(id, filter)
    },
    objects(id) {
      get(id)
      return Object.fromEntries(registry.objects(id))
    },
    sensors: (id) => points(id, 'sensor'),
    controls: (id) => points(id, 'control'),
    async setControl(id, control, value) {
      requireRunning()
      const found = points(id, 'control').find((point) => point.id === control)
      if (found === undefined) {
        throw new Problem('control_unknown', `${id} has no control ${JSON.stringify(control)} now.`)
      }
      checkControlValue(found.range, value)
      const shown = exposureOf(id, control)
      const typed = shown === undefined ? value : checkExposedControl(shown, value)
      const after: Json | undefined = await effects.setControl(id, control, typed)
      return { id: control, value: after ?? null }
    },
    exposures(id) {
      get(id)
      return exposures.list(id)
    },
    async setExposed(id, exposed, feature, value) {
      requireRunning()
      get(id)
      const found = exposures.get(id, exposed)
      if (found === undefined) {
        throw new Problem('control_unknown', `${id} exposes nothing as ${JSON.stringify(exposed)} now.`)
      }
      await effects.setExposed(id, exposed, feature, checkExposedValue(found.exposure, feature, value))
    },

    history({ plugin, after, limit = historyLimit }) {
      const events = journal.read({
        ...(plugin === undefined ? {} : { plugin }),
        ...(after === undefined ? {} : { after }),
        limit: Math.min(limit, historyLimit),
      })
      return events.map((event) => eventView(event, manifests.knownFields))
    },
    stateAt: (seq) => ({ seq, plugins: statesAt(journal.stateAt(seq)) }),
    machineState(id) {
      const snapshot = snapshotOfPlugin(context, id)
      const state = stateOf(snapshot)
      const at = ''
      const nextEvents = (pluginLifecycle.states[state]?.ownEvents ?? []).filter((type) =>
        // The guards look at the context alone, so the data of the fact does not matter here.
        snapshot.can({ type, plugin: id, data: {}, at } as PluginFact & { at: string }),
      )
      return { machine: pluginLifecycle.id, state, nextEvents }
    },

    async catalog({ text, repository }) {
      const all = configuredRepositories(context)
      const chosen = repository === undefined ? all : all.filter(({ name }) => name === repository)
      if (repository !== undefined && chosen.length === 0) {
        throw new Problem('repository_unknown', `There is no repository named ${repository}.`)
      }
      const offers = await context.repositories.offers(chosen)
      const wanted = text?.toLowerCase()
      return offers
        .filter(
          (offer) =>
            wanted === undefined ||
            [offer.fullId, offer.name, offer.description ?? '', ...offer.tags].some((field) =>
              field.toLowerCase().includes(wanted),
            ),
        )
        .map(({ minHostVersion, ...offer }) => {
          const snapshot = snapshotOfPlugin(context, offer.fullId)
          const { version, indexVersion, repository: from } = snapshot.context
          const seen = indexVersion ?? version
          return {
            ...offer,
            installedVersion: version,
            updateAvailable:
              version !== null &&
              seen !== null &&
              (from === null || from === offer.repository) &&
              isNewer(offer.version, seen),
            compatible: minHostVersion === null || hostSupports(minHostVersion, hostVersion),
          }
        })
    },
    repositories: () => repositoryStatuses(() => true),
    async addRepository({ name, url }, { by, requestKey }) {
      requireRunning()
      if (
        configuredRepositories(context).some(
          (repository) => repository.name === name && repository.url === url,
        )
      ) {
        return repositoryStatus(name)
      }
      // Read first: an address that does not work is told now, not at the next installation.
      await context.repositories.index({ name, url })
      await journal.append([{ type: 'RepositoryAdded', plugin: null, data: { name, url } }], by, requestKey)
      await snapshots.flush()
      return repositoryStatus(name)
    },
    async removeRepository(name, { by }) {
      requireRunning()
      if (!configuredRepositories(context).some((repository) => repository.name === name)) {
        throw new Problem('repository_unknown', `There is no repository named ${name}.`)
      }
      await journal.append([{ type: 'RepositoryRemoved', plugin: null, data: { name } }], by)
      await snapshots.flush()
    },

    recallRequest(requestKey) {
      const plugin = journal.recallRequest(requestKey)
      return plugin === undefined ? undefined : { plugin }
    },
    subscribe: announcements.subscribe,
    get lastSeq() {
      return journal.state.seq
    },

    async record(facts, by) {
      await journal.append(facts, by)
    },
    async prepare(file) {
      await recoverPlugins(context, loader, installer)
      // Before anything is written: they say which values are secret.
      await Promise.all(installedIds().map(manifests.refresh))
      const known = new Set(installedIds())
      await applyHandEdits(context, file)
      await Promise.all(
        installedIds()
          .filter((id) => !known.has(id))
          .map(manifests.refresh),
      )
    },
    async start() {
      await loadEnabledPlugins(context, loader)
      await snapshots.flush()
    },
    stop() {
      stopping ??= (async () => {
        for (const restart of restarts.values()) restart.timer?.cancel()
        await mutex.idle()
        await unloadAllPlugins(context, loader)
        await stores.close()
        stopListening()
      })()
      return stopping
    },
  }
}
