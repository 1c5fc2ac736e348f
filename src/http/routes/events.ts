import { Problem } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { EventsQuery } from '../../schema/api/api.ts'
import type { EventStream } from '../streams/event-stream.ts'
import { defineRoute, type Route } from '../route.ts'
import { pluginIdOf } from './plugin-route.ts'

export function eventRoutes(lifecycle: LifecycleFacade, events: EventStream): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/events',
      summary:
        'What happens, as server-sent events: lifecycle, log, event, object, sensor, control, exposure, exposed; with beats=true also beat, every 15 s',
      details: [
        'Each event has JSON as its data; a value that is gone is null.',
        '- `lifecycle`: a JournalEvent. Its `seq` is the id of the event, from which a stream goes on after a break.',
        '- `log`: `{plugin, at, level, message, fields?}`',
        '- `event`, which a plugin emitted: `{plugin, name, data, caller?}`',
        '- `object`: `{plugin, path, value, removed}`',
        '- `sensor` and `control`: `{plugin, id, value, removed}`',
        '- `exposure`, which came, changed or went: `{plugin, id, exposure}`',
        '- `exposed`, its state: `{plugin, id, state}`',
        '',
        'Who reads too slowly is cut off. What happened meanwhile comes again only where it is `lifecycle`.',
      ].join('\n'),
      query: EventsQuery,
      answers: { 200: null },
      produces: ['text/event-stream'],
      problems: ['plugin_not_installed', 'ambiguous_id', 'shutting_down'],
      handle({ context, query }) {
        // A browser that connects again sends the header by itself, with a newer number than the address has.
        const after = lastEventId(context.get('Last-Event-ID')) ?? query.lastEventId
        const plugin = query.plugin === undefined ? undefined : pluginIdOf(lifecycle, { id: query.plugin })
        events.open(context, { after, plugin, beats: query.beats === 'true' })
        return undefined
      },
    }),
  ]
}

function lastEventId(header: string): number | undefined {
  if (header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw new Problem('body_invalid', 'The header Last-Event-ID must be the number of an event.', {
    errors: [{ path: '', message: 'the header Last-Event-ID is malformed' }],
  })
}
