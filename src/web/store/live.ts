import { useEffect, useState } from 'preact/hooks'
import { onAnnouncements } from '../base/stream.ts'

/** What plugins have emitted since this page was opened. */

/** Most events kept of one plugin. */
const keptEvents = 200

export interface EmittedEvent {
  /** For lists: no two have the same. */
  key: number
  /** Milliseconds since 1970, when it came here. */
  at: number
  name: string
  data: unknown
}

const emitted = new Map<string, EmittedEvent[]>()
let nextKey = 0

export function followEmittedEvents(): void {
  onAnnouncements((announcements) => {
    for (const announcement of announcements) {
      if (announcement.kind !== 'event') continue
      const { plugin, name, data } = announcement
      const list = emitted.get(plugin) ?? []
      emitted.set(plugin, list)
      list.push({ key: (nextKey += 1), at: Date.now(), name, data })
      // Cut in steps: moving the list for each event would cost more than the event.
      if (list.length > keptEvents * 2) list.splice(0, list.length - keptEvents)
    }
  })
}

/** The latest events of a plugin, oldest first; the same list while `paused`. */
export function useEmittedEvents(plugin: string, paused: boolean): readonly EmittedEvent[] {
  const [events, setEvents] = useState<readonly EmittedEvent[]>([])
  useEffect(() => {
    if (paused) return undefined
    const read = (): void => setEvents((emitted.get(plugin) ?? []).slice(-keptEvents))
    read()
    return onAnnouncements((announcements) => {
      if (
        announcements.some(
          ({ kind, ...rest }) => kind === 'event' && 'plugin' in rest && rest.plugin === plugin,
        )
      )
        read()
    })
  }, [plugin, paused])
  return events
}
