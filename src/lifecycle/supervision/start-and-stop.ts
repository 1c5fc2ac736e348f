import type { Bus } from '../../bus/bus.ts'
import { isInstalled } from '../../journal/fold/evolve.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import type { Sandbox } from '../../sandbox/isolate.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Dependents } from './dependents.ts'
import type { Evictions } from './evictions.ts'
import { applyHandEdits } from './hand-edits.ts'
import type { SupervisionParts } from './reconciler.ts'
import { enabledPlugins, loadEnabledPlugins, recoverPlugins, unloadAllPlugins } from './startup.ts'
import type { Supervisor } from './supervisor.ts'

/** Runs a task that writes, and runs all of it again where the disk is full, until there is room for it. */
export type RetryOnDiskFull = <T>(task: () => Promise<T>) => Promise<T>

/** All plugins at once: when the host starts, leaves safe mode, and stops. */
export interface StartAndStop {
  /** Starts the workers that enabled plugins will share, as another processor can do while the rest of the host starts. */
  startWorkers(): Promise<void>
  /** Reads the manifests of what is installed: they say what its settings are called, and which are secret. */
  readManifests(): Promise<void>
  /** Recovers from a crash and takes over what a person changed in `.host.json`. Answers whether anything was. */
  prepare(file: HostFile | undefined, retryOnDiskFull?: RetryOnDiskFull): Promise<boolean>
  /** Loads every enabled plugin, unless the host is in safe mode. */
  start(): Promise<void>
  /** The same in any case. */
  loadAll(cause: { by: Origin; reason: string }): Promise<void>
  /** Ends the loads that are under way: the start is not to be finished. */
  stopLoading(): void
  /** Refuses further commands, waits for those under way, unloads every plugin. Idempotent. */
  stop(): Promise<void>
}

export interface StartAndStopParts extends SupervisionParts {
  bus: Pick<Bus, 'onReconnect'>
  supervisor: Supervisor
  dependents: Dependents
  evictions: Evictions
  sandbox: Pick<Sandbox, 'expect'>
  commands: { refuseFurther(): void }
  installedIds(): readonly string[]
}

export function createStartAndStop(context: LifecycleContext, parts: StartAndStopParts): StartAndStop {
  const { manifests, stores, retained, repositories, mutex, loads } = context
  const { bus, loader, installer, reconciler, supervisor, dependents, evictions } = parts
  const { snapshots, sandbox, commands, installedIds } = parts
  let stopping: Promise<void> | undefined

  async function loadAll(cause: { by: Origin; reason: string }): Promise<void> {
    await loadEnabledPlugins(context, { loader, installer, reconciler }, cause)
    context.readAtStart.clear()
    await sandbox.expect(0)
    await snapshots.flush()
  }

  /** A broker may have been away when a plugin went, or the host ended in between. */
  async function clearRetainedOfRemoved(): Promise<void> {
    const tasks = retained.plugins().map((id) =>
      mutex.run(id, async () => {
        if (!isInstalled(snapshotOfPlugin(context, id))) await retained.clear(id)
      }),
    )
    await Promise.all(tasks)
  }
  const stopClearing = bus.onReconnect(() => void clearRetainedOfRemoved())

  async function readManifests(): Promise<void> {
    const unknown = installedIds().filter((id) => !context.readAtStart.has(id))
    await Promise.all(unknown.map(manifests.refresh))
  }

  return {
    startWorkers: () => sandbox.expect(enabledPlugins(context).length),
    readManifests,
    async prepare(file, retryOnDiskFull = (task) => task()) {
      await retryOnDiskFull(() => stores.recover())
      await retained.recover()
      await retryOnDiskFull(() => recoverPlugins(context, loader, installer))
      // Before anything is written: they say which values are secret.
      await readManifests()
      const known = new Set(installedIds())
      const isEdited = await applyHandEdits(context, file, retryOnDiskFull)
      await Promise.all(
        installedIds()
          .filter((id) => !known.has(id))
          .map(manifests.refresh),
      )
      return isEdited
    },
    async start() {
      await clearRetainedOfRemoved()
      dependents.start()
      if (isSafeMode(context)) context.readAtStart.clear()
      else await loadAll({ by: 'startup', reason: 'startup' })
      for (const id of installedIds())
        if (manifests.isUnread(id) || context.unverifiedFiles.has(id)) reconciler.later(id)
      stores.started()
    },
    loadAll,
    stopLoading() {
      loads.stopAll()
      void repositories.close()
    },
    stop() {
      stopping ??= (async () => {
        commands.refuseFurther()
        supervisor.stop()
        dependents.stop()
        stopClearing()
        reconciler.stop()
        loads.stopAll()
        // Commands under way may be waiting for one.
        await repositories.close()
        await evictions.idle()
        await mutex.idle()
        await unloadAllPlugins(context, loader)
        await stores.close()
        await retained.close()
      })()
      return stopping
    },
  }
}
