import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { eventView, statesAt, statusView } from './views.ts'

/** Most events that one answer about the history holds. */
const historyLimit = 10_000

/** What the journal tells: events, the state at any of them, and where a machine may go from here. */
export type History = Pick<Lifecycle, 'history' | 'stateAt' | 'machineState'>

export function createHistory(context: LifecycleContext): History {
  const { journal, manifests, ownership } = context
  return {
    history: ({ limit = historyLimit, ...filter }) =>
      journal
        .read({ ...filter, limit: Math.min(limit, historyLimit) })
        .map((event) => eventView(event, context)),
    stateAt: (seq) => ({ seq, plugins: statesAt(journal.stateAt(seq)) }),
    machineState(id) {
      const snapshot = snapshotOfPlugin(context, id)
      const state = snapshot.value
      const at = ''
      const whereabouts = ownership.whereabouts(id)
      const isPossible = (type: string): boolean =>
        // Of what no host of a fleet has, any host changes where it may run, and nobody anything else.
        (whereabouts.absence === null || type === 'PluginPlaced') &&
        // The guards look at the context alone, so the data of the fact does not matter here.
        snapshot.can({ type, plugin: id, data: {}, at } as PluginFact & { at: string })
      const nextEvents = (pluginLifecycle.states[state]?.ownEvents ?? []).filter(isPossible)
      // As it is shown everywhere else.
      const shown = statusView(snapshot, manifests.get(id), whereabouts).state
      return { machine: pluginLifecycle.id, state: shown, nextEvents }
    },
  }
}
