import { initialTransition, type SnapshotFrom } from 'xstate'
import { host } from '../../machines/host.ts'
import { pluginLifecycle } from '../../machines/plugin-lifecycle.ts'
import type { Fact, JournalEvent, PluginFact } from '../schema/journal-event.ts'
import type { PluginState } from '../schema/plugin.ts'
import { createStep } from './step.ts'

/** State of the host and of every plugin: the fold of the facts through the machines. */

export type PluginSnapshot = SnapshotFrom<typeof pluginLifecycle>
export type HostSnapshot = SnapshotFrom<typeof host>

export interface HostState {
  readonly seq: number
  readonly host: HostSnapshot
  /** Every plugin there ever was, by full id; also those that are uninstalled. */
  readonly plugins: ReadonlyMap<string, PluginSnapshot>
}

const stepPlugin = createStep(pluginLifecycle)
const stepHost = createStep(host)

export function initialPlugin(id: string): PluginSnapshot {
  return initialTransition(pluginLifecycle, { id })[0]
}

export function initialState(): HostState {
  return { seq: 0, host: initialTransition(host)[0], plugins: new Map() }
}

export function pluginIn(state: HostState, id: string): PluginSnapshot {
  return state.plugins.get(id) ?? initialPlugin(id)
}

/** The machine has no nested states, so its state value is a name. */
export function stateOf(snapshot: PluginSnapshot): PluginState {
  return snapshot.value
}

/** The next snapshot, or undefined when the machine does not take this fact now. */
export function evolvePlugin(
  snapshot: PluginSnapshot,
  fact: PluginFact,
  at: string,
): PluginSnapshot | undefined {
  const event = { ...fact, at }
  return snapshot.can(event) ? stepPlugin(snapshot, event) : undefined
}

/** Whether the plugin's machine would take a fact of this type, with whatever data. */
export function accepts(snapshot: PluginSnapshot, fact: PluginFact): boolean {
  return snapshot.can({ ...fact, at: '' })
}

/**
 * Applies a fact that the host is about to write down. `undefined`: the machine refuses it.
 * `plugins` of the result is `draft`, changed in place: the caller owns it.
 */
export function applyFact(
  state: HostState,
  fact: Fact,
  at: string,
  draft: Map<string, PluginSnapshot>,
): { state: HostState; value: string; revision: number } | undefined {
  const seq = state.seq + 1
  if (fact.plugin === null) {
    const event = { ...fact, at }
    if (!state.host.can(event)) return undefined
    const next = stepHost(state.host, event)
    return { state: { seq, host: next, plugins: draft }, value: next.value, revision: 0 }
  }
  const next = evolvePlugin(draft.get(fact.plugin) ?? initialPlugin(fact.plugin), fact, at)
  if (next === undefined) return undefined
  draft.set(fact.plugin, next)
  return {
    state: { seq, host: state.host, plugins: draft },
    value: stateOf(next),
    revision: next.context.revision,
  }
}

/** Folds events of the journal. Throws with a sentence at one that does not follow from those before. */
export function fold(events: Iterable<JournalEvent>, from: HostState = initialState()): HostState {
  const draft = new Map(from.plugins)
  let state: HostState = { ...from, plugins: draft }
  for (const event of events) state = foldEvent(state, event, draft)
  return state
}

/** As `fold`, for one event, changing `draft` in place. */
export function foldEvent(
  state: HostState,
  event: JournalEvent,
  draft: Map<string, PluginSnapshot>,
): HostState {
  if (event.seq !== state.seq + 1)
    throw new Error(`it has the number ${event.seq} instead of ${state.seq + 1}`)
  const applied = applyFact(state, event, event.at, draft)
  if (applied === undefined) throw new Error(`${event.type} cannot follow from the state before it`)
  if (applied.value !== event.state || applied.revision !== event.revision) {
    throw new Error(
      `it says ${event.state} (revision ${event.revision}) where ${applied.value} (${applied.revision}) follows`,
    )
  }
  return applied.state
}
