import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import { stateOf } from '../../journal/fold/evolve.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { eventView, statesAt } from './views.ts'

/** Most events that one answer about the history holds. */
const historyLimit = 10_000

/** What the journal tells: events, the state at any of them, and where a machine may go from here. */
export type History = Pick<Lifecycle, 'history' | 'stateAt' | 'machineState'>

export function createHistory(context: LifecycleContext): History {
  const { journal } = context
  return {
    history: ({ limit = historyLimit, ...filter }) =>
      journal
        .read({ ...filter, limit: Math.min(limit, historyLimit) })
        .map((event) => eventView(event, context)),
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
  }
}
