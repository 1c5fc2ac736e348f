import { createKeyedTimers } from '../../base/time/keyed-timers.ts'
import type { FactType } from '../../schema/journal/journal-event.ts'
import { installedPlugins, isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { dependenciesElsewhere } from '../loading/dependencies-elsewhere.ts'
import { checkDependencies, unmetMessage } from '../loading/dependency-check.ts'
import { requiredPlugins } from '../manifests/dependencies.ts'
import { loadAutomatically } from './automatic-load.ts'
import { inDependencyOrder } from './dependency-order.ts'
import { reconcileDelay, type SupervisionParts } from './reconciler.ts'

/**
 * Loads plugins that failed for want of another one, once that is there in a version that fits. One that needs more besides is
 * tried as well: its error says what is missing now. Where the reason would be the same again, nothing is tried. One that runs,
 * and could not be loaded any more, has that in its log.
 */
export interface Dependents {
  /** From now on. Nothing is loaded before the start has come to that. */
  start(): void
  stop(): void
}

/** After these a plugin may be what another one needs; the last says that one was looked for too early. */
const changes: ReadonlySet<FactType> = new Set<FactType>([
  ...(['PluginInstalled', 'PluginUpdated', 'PluginRolledBack', 'PluginFilesRestored'] as const),
  ...(['PluginLoaded', 'PluginMoved', 'PluginLoadFailed'] as const),
])

/** After these it may be so no more. */
const losses: ReadonlySet<FactType> = new Set<FactType>([
  ...(['PluginUpdated', 'PluginRolledBack', 'PluginUninstalled'] as const),
])

export function createDependents(context: LifecycleContext, parts: SupervisionParts): Dependents {
  const { clock, effects, journal, manifests, mutex, ownership, logger } = context
  const { reconciler, snapshots } = parts
  /** Those that have failed for want of another one, and perhaps some that run by now. */
  const lacking = new Set<string>()
  let changed = new Set<string>()
  const retries = createKeyedTimers(clock)
  let active = false

  const stopListening = journal.subscribe(({ type, plugin }) => {
    if (!active || plugin === null) return
    if (changes.has(type)) note(plugin)
    if (!losses.has(type)) return
    warnThoseThatRun(plugin).catch((error: unknown) => {
      logger.warn('Whether plugins need what has gone is not known', { plugin, error })
    })
  })

  /** Nobody would know before the next start, when it is long forgotten what was done. */
  async function warnThoseThatRun(needed: string): Promise<void> {
    await mutex.run(needed, () => Promise.resolve())
    for (const { id } of installedPlugins(context)) {
      const manifest = manifests.get(id)
      if (manifest === undefined || !effects.isSettled(id) || !requires(id, needed)) continue
      const { unmet } = await checkDependencies(context, id, manifest)
      if (active && unmet.length > 0)
        effects.logFor(id, 'warn', `It runs on, but cannot be loaded again as it is: ${unmetMessage(unmet)}`)
    }
  }

  function requires(id: string, other: string): boolean {
    return requiredPlugins({ id, dependencies: manifests.get(id)?.dependencies }).includes(other)
  }

  function note(id: string): void {
    if (lacksPlugins(id)) lacking.add(id)
    if (lacking.size === 0) return
    // All of one turn together: they are loaded in the order of their dependencies.
    if (changed.size === 0) queueMicrotask(() => void lookAfter())
    changed.add(id)
  }

  function lacksPlugins(id: string): boolean {
    const snapshot = snapshotOfPlugin(context, id)
    return snapshot.value === 'failed' && snapshot.context.error?.code === 'dependency_unmet'
  }

  function mayBeLoaded(id: string): boolean {
    return active && lacksPlugins(id) && ownership.owns(id) && !isSafeMode(context)
  }

  /** Of what has changed, what the plugin needs, or that it was the plugin itself. */
  function concerns(id: string, ids: ReadonlySet<string>): string[] {
    return [...ids].filter((one) => one === id || requires(id, one))
  }

  async function lookAfter(): Promise<void> {
    const ids = changed
    changed = new Set()
    // Whatever comes of the change is known when its turn is over: an update may have gone back to the version before.
    await Promise.all([...ids].map((id) => mutex.run(id, () => Promise.resolve())))
    for (const id of lacking) if (!lacksPlugins(id)) lacking.delete(id)
    const waiting = [...lacking].filter((id) => mayBeLoaded(id) && concerns(id, ids).length > 0)
    if (waiting.length === 0) return
    await inDependencyOrder(context, waiting, async (id) => {
      try {
        if (await isWorthwhile(id)) await load(id, concerns(id, ids))
      } catch (error) {
        if (!ownership.owns(id)) return
        logger.error('A plugin could not be loaded after what it needs', { plugin: id, error })
        // Half-way, or not even begun: the disk is full, say.
        reconciler.later(id, error)
        if (mayBeLoaded(id)) retries.set(id, reconcileDelay, () => note(id))
      }
    })
    // A host that stops writes its last snapshot itself, and nothing after that.
    if (active) await snapshots.flush()
  }

  /** Whether a load would come to anything else than the one before. */
  async function isWorthwhile(id: string): Promise<boolean> {
    const manifest = manifests.get(id)
    if (!mayBeLoaded(id) || manifest === undefined || dependenciesElsewhere(context, id).length > 0)
      return false
    const { unmet } = await checkDependencies(context, id, manifest)
    const { error } = snapshotOfPlugin(context, id).context
    return mayBeLoaded(id) && (unmet.length === 0 || unmetMessage(unmet) !== error?.message)
  }

  async function load(id: string, others: readonly string[]): Promise<void> {
    const needed = others.filter((other) => other !== id)
    const what = needed.length === 0 ? 'what it needs' : needed.join(', ')
    await loadAutomatically(context, parts, id, `${what} has come or changed`)
  }

  return {
    start() {
      active = true
      for (const id of journal.state.plugins.keys()) if (lacksPlugins(id)) lacking.add(id)
    },
    stop() {
      active = false
      stopListening()
      retries.cancelAll()
    },
  }
}
