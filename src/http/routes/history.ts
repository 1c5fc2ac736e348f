import { jsonText } from '../../base/text/json.ts'
import { Problem } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { HistoryAnswer, HistoryQuery, StateAtAnswer } from '../../schema/api/api.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { jsonList } from '../answers/json-list.ts'
import { type Answer, defineRoute, type Route } from '../route.ts'
import { pluginIdOf } from './plugin-route.ts'

/** What has happened, and how things stood at any moment. */
export function historyRoutes(lifecycle: LifecycleFacade): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/plugins/:id/history',
      summary:
        'The events of one plugin, oldest first, also after it was uninstalled; those larger than 8 MiB together page by page',
      query: HistoryQuery,
      answers: { 200: HistoryAnswer },
      problems: ['plugin_not_installed', 'ambiguous_id'],
      async handle({ parameters, query }) {
        const plugin = pluginIdOf(lifecycle, parameters)
        if (lifecycle.history({ plugin, limit: 1 }).length === 0) await lifecycle.get(plugin)
        return page(lifecycle.history({ plugin, ...query }))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/history',
      summary:
        'The events of the host and all plugins, oldest first; those larger than 8 MiB together page by page',
      query: HistoryQuery,
      answers: { 200: HistoryAnswer },
      answerHeaders: {
        'First-Seq': 'Number of the first event that is here: above 1 where old ones were moved away',
        'Last-Seq': 'Number of the last event that is here',
      },
      handle: ({ query }) => ({
        ...page(lifecycle.history(query)),
        // For whoever wants the newest events first, and would else have to read all; and where they begin.
        headers: { 'First-Seq': String(lifecycle.firstSeq), 'Last-Seq': String(lifecycle.lastSeq) },
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/history/:seq/state',
      summary: 'The state of every plugin right after an event',
      answers: { 200: StateAtAnswer },
      problems: ['not_found'],
      handle: ({ parameters }) => ({ body: lifecycle.stateAt(sequenceNumber(parameters.seq ?? '')) }),
    }),
  ]
}

function page(events: readonly JournalEventView[]): Answer {
  return { body: { events }, json: jsonList('events', textsOf(events)) }
}

/** One after the other: they may be of a megabyte each. */
function* textsOf(events: readonly JournalEventView[]): Generator<string> {
  for (const event of events) yield jsonText(event)
}

function sequenceNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new Problem('body_invalid', 'The address has a bad value for: seq.', {
    errors: [{ path: '/seq', message: 'must be the number of an event' }],
  })
}
