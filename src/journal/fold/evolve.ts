import { initialTransition, type SnapshotFrom } from 'xstate'
import { host } from '../../../machines/host.ts'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import type { Fact, JournalEvent, PluginFact } from '../../schema/journal/journal-event.ts'
import type { PluginState } from '../../schema/plugin/plugin.ts'
import { createTransition } from './transition.ts'

/** State of the host and of every plugin: the fold of the facts through the machines. */

export type PluginSnapshot = SnapshotFrom<typeof pluginLifecycle>
export type HostSnapshot = SnapshotFrom<typeof host>

export interface HostState {
  readonly seq: number
  readonly host: HostSnapshot
  /** Every plugin there ever was, by full id; also those that are uninstalled. */
  readonly plugins: ReadonlyMap<string, PluginSnapshot>
}

const stepPlugin = createTransition(pluginLifecycle)
const stepHost = createTransition(host)

export function initialPlugin(id: string): PluginSnapshot {
  return initialTransition(pluginLifecycle, { id })[0]
}

export function initialState(): HostState {
  return { seq: 0, host: initialTransition(host)[0], plugins: new Map() }
}

export function pluginIn(state: Pick<Applicable, 'plugins'>, id: string): PluginSnapshot {
  return state.plugins.get(id) ?? initialPlugin(id)
}

const statesWithFiles: ReadonlySet<PluginState> = new Set([
  'installed',
  'loading',
  'running',
  'unloading',
  'unloaded',
  'failed',
])

/** Whether the plugin is there for callers: installed, whatever else it is doing. */
export function isInstalled({ value }: Pick<PluginSnapshot, 'value'>): boolean {
  return statesWithFiles.has(value)
}

export function installedIn({ plugins }: Pick<HostState, 'plugins'>): PluginSnapshot[] {
  return [...plugins.values()].filter(isInstalled)
}

/** The next snapshot, or undefined when the machine does not take this fact now. */
export function evolvePlugin(
  snapshot: PluginSnapshot,
  fact: PluginFact,
  at: string,
): PluginSnapshot | undefined {
  return stepPlugin(snapshot, { ...fact, at })
}

/** Whether the plugin's machine would take a fact of this type, with whatever data. */
export function accepts(snapshot: PluginSnapshot, fact: PluginFact): boolean {
  return snapshot.can({ ...fact, at: '' })
}

/** What a fact leads to. */
export interface Applied {
  host: HostSnapshot
  /** Of the plugin that the fact is of. */
  plugin: PluginSnapshot | undefined
  /** Name of the state, and the revision, of what the fact is of. */
  value: string
  revision: number
}

/** The parts of a `HostState` that a fact is applied to. */
export interface Applicable {
  readonly host: HostSnapshot
  readonly plugins: Pick<ReadonlyMap<string, PluginSnapshot>, 'get'>
}

/** A state that goes on with each event: for whoever looks at it at once, and keeps only what was found there. */
export interface LiveState extends Applicable {
  readonly seq: number
}

/** Applies a fact that the host is about to write down. `undefined`: the machine refuses it. */
export function applyFact(
  { host: before, plugins }: Applicable,
  fact: Fact,
  at: string,
): Applied | undefined {
  if (fact.plugin === null) {
    const next = stepHost(before, { ...fact, at })
    if (next === undefined) return undefined
    return { host: next, plugin: undefined, value: next.value, revision: 0 }
  }
  const next = evolvePlugin(plugins.get(fact.plugin) ?? initialPlugin(fact.plugin), fact, at)
  if (next === undefined) return undefined
  return { host: before, plugin: next, value: next.value, revision: next.context.revision }
}

/** Folds events of the journal. Throws with a sentence at one that does not follow from those before. */
export function fold(events: Iterable<JournalEvent>, from: HostState = initialState()): HostState {
  const plugins = new Map(from.plugins)
  let { seq, host: hostNow } = from
  for (const event of events) {
    const applied = foldEvent({ seq, host: hostNow, plugins }, event)
    seq = event.seq
    hostNow = applied.host
    if (event.plugin !== null && applied.plugin !== undefined) plugins.set(event.plugin, applied.plugin)
  }
  return { seq, host: hostNow, plugins }
}

/** As `fold`, for one event. */
export function foldEvent(state: Applicable & { readonly seq: number }, event: JournalEvent): Applied {
  if (event.seq !== state.seq + 1)
    throw new Error(`it has the number ${event.seq} instead of ${state.seq + 1}`)
  const applied = applyFact(state, event, event.at)
  if (applied === undefined) throw new Error(`${event.type} cannot follow from the state before it`)
  if (applied.value !== event.state || applied.revision !== event.revision) {
    throw new Error(
      `it says ${event.state} (revision ${event.revision}) where ${applied.value} (${applied.revision}) follows`,
    )
  }
  return applied
}
