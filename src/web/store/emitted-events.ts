import { getOrInsert } from '../../base/get-or-insert.ts'
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { connection, lastHeard, onAnnouncements } from '../base/stream.ts'
import { type EmittedEvent, keepEvent, type KeptEvents, keptEvents } from './kept-events.ts'

/** What plugins have emitted since this page was opened. */

/** A time without a stream, in milliseconds since 1970. */
export interface Gap {
  from: number
  to: number
}

/** Most that are kept. */
const keptGaps = 5

/** When nothing was heard of what plugins emitted, oldest first: it is told only once. */
export const gaps = signal<readonly Gap[]>([])

const emitted = new Map<string, KeptEvents>()
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
    for (const { plugin, name, data, size } of announcements) {
      const kept = getOrInsert(emitted, plugin, () => ({ events: [], size: 0 }))
      keepEvent(kept, { key: (nextKey += 1), at: Date.now(), name, data, size })
    }
  })
}

/** The latest events of a plugin, oldest first; the same list while `paused`, and how many have come since. */
export function useEmittedEvents(plugin: string, paused: boolean) {
  const [events, setEvents] = useState<readonly EmittedEvent[]>([])
  const [waiting, setWaiting] = useState(0)
  useEffect(() => {
    setWaiting(0)
    const read = (): void => setEvents((emitted.get(plugin)?.events ?? []).slice(-keptEvents))
    if (!paused) read()
    return onAnnouncements({ kinds: ['event'], plugin }, (announcements) => {
      if (paused) setWaiting((before) => before + announcements.length)
      else read()
    })
  }, [plugin, paused])
  return { events, waiting }
}
