import { type Logger, silentLogger } from '../../../src/base/log/log.ts'
import { serializeJson } from '../../../src/base/text/serialized-json.ts'
import type { Announcement } from '../../../src/lifecycle/lifecycle.ts'
import type { JournalEventView } from '../../../src/schema/journal/journal-event.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'
import { startHttp } from '../http-over.ts'

/** The HTTP side with announcements and a journal that the test makes. `asked`: what is behind this number is about to be read. */
export async function streamOf({
  clock = createManualClock(),
  logger = silentLogger,
  asked = () => undefined,
}: { clock?: ManualClock; logger?: Logger; asked?: (after: number) => void } = {}) {
  const listeners = new Set<(announcement: Announcement) => void>()
  const journal: JournalEventView[] = []
  const http = await startHttp(
    {
      subscribe(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      history({ after = 0, limit = Number.POSITIVE_INFINITY, plugin }) {
        asked(after)
        return journal
          .filter((event) => event.seq > after && (plugin === undefined || event.plugin === plugin))
          .slice(0, limit)
      },
      get lastSeq() {
        return journal.length
      },
    },
    { clock, logger },
  )
  const append = (plugin = '@a/b'): JournalEventView => {
    const event = { seq: journal.length + 1, type: 'PluginLoaded', plugin, data: {} } as JournalEventView
    journal.push(event)
    return event
  }
  const announce = (announcement: Announcement): void => {
    for (const listener of listeners) listener(announcement)
  }
  return { http, clock, listeners, append, announce }
}

export const logLine = (plugin: string, message: string): Announcement => ({
  kind: 'log',
  plugin,
  line: serializeJson({ at: '2026-01-01T00:00:00.000Z', level: 'info', message }),
})
