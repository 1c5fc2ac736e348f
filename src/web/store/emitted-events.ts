import { getOrInsert } from '../../base/get-or-insert.ts'
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { connection, lastHeard, onAnnouncements } from '../base/stream.ts'

/** What plugins have emitted since this page was opened. */

/** Most events kept of one plugin. */
const keptEvents = 500

export interface EmittedEvent {
  /** For lists: no two have the same. */
  key: number
  /** Milliseconds since 1970, when it came here. */
  at: number
  name: string
  data: unknown
}

/** A time without a stream, in milliseconds since 1970. */
export interface Gap {
  from: number
  to: number
}

/** Most that are kept. */
const keptGaps = 5

/** When nothing was heard of what plugins emitted, oldest first: it is told only once. */
export const gaps = signal<readonly Gap[]>([])

const emitted = new Map<string, EmittedEvent[]>()
let nextKey = 0

export function followEmittedEvents(): void {
  let lostAt: number | undefined
  let wasConnected = false
  connection.subscribe((now) => {
    const isConnected = now === 'connected'
    // That it is lost may be noticed long after.
    if (wasConnected && !isConnected) lostAt = lastHeard()
    if (isConnected && lostAt !== undefined) {
      gaps.value = [...gaps.peek(), { from: lostAt, to: Date.now() }].slice(-keptGaps)
      lostAt = undefined
    }
    wasConnected = isConnected
  })
  onAnnouncements({ kinds: ['event'] }, (announcements) => {
    for (const { plugin, name, data } of announcements) {
      const list = getOrInsert(emitted, plugin, () => [])
      list.push({ key: (nextKey += 1), at: Date.now(), name, data })
      // Cut in steps: moving the list for each event would cost more than the event.
      if (list.length > keptEvents * 2) list.splice(0, list.length - keptEvents)
    }
  })
}

/** The latest events of a plugin, oldest first; the same list while `paused`, and how many have come since. */
export function useEmittedEvents(plugin: string, paused: boolean) {
  const [events, setEvents] = useState<readonly EmittedEvent[]>([])
  const [waiting, setWaiting] = useState(0)
  useEffect(() => {
    setWaiting(0)
    const read = (): void => setEvents((emitted.get(plugin) ?? []).slice(-keptEvents))
    if (!paused) read()
    return onAnnouncements({ kinds: ['event'], plugin }, (announcements) => {
      if (paused) setWaiting((before) => before + announcements.length)
      else read()
    })
  }, [plugin, paused])
  return { events, waiting }
}
