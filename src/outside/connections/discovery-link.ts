import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Finding, FoundService } from '../../schema/outside/discovery.ts'
import type { Finder } from '../discovery/finder.ts'
import type { Link, LinkEvents } from './link.ts'

/** Milliseconds after the network is back in which what was there has to be found again. */
const foundAgainTime = 10_000

/** What outlives an attempt. */
export interface DiscoveryMemory {
  /** What the plugin has been told is there. */
  readonly told: Map<string, FoundService>
  /** When it ends, on the clock that never goes backwards; undefined: never. */
  until: number | undefined
}

/** Looks for something as long as the plugin wants to. While it takes nothing, only the last of each is kept for it. */
export function openDiscovery(
  wanted: string,
  memory: DiscoveryMemory,
  finder: Finder,
  clock: Clock,
  events: LinkEvents,
): Link {
  const { told, until } = memory
  const changed = new Map<string, FoundService | undefined>()
  const missing = new Set(told.keys())
  const timers: ScheduledCall[] = []
  let paused = false

  function tell(key: string, service: FoundService | undefined): void {
    const before = told.get(key)
    const found = service ?? before
    if (paused) {
      // What is found and gone while nobody takes it is not told at all: of such there may be any number.
      if (found === undefined) changed.delete(key)
      else changed.set(key, service)
      return
    }
    if (found === undefined || JSON.stringify(service) === JSON.stringify(before)) return
    if (service === undefined) told.delete(key)
    else told.set(key, service)
    const finding: Finding = { ...found, gone: service === undefined }
    events.message(Buffer.from(JSON.stringify(finding)), { text: true })
  }

  function end(): void {
    stop()
    for (const timer of timers) timer.cancel()
  }

  const stop = finder.watch(wanted, {
    ready() {
      timers.push(
        clock.schedule(foundAgainTime, () => {
          for (const key of missing) tell(key, undefined)
        }),
      )
      events.opened()
    },
    tell(key, service) {
      missing.delete(key)
      tell(key, service)
    },
    failed(reason) {
      end()
      // Where there is no network it has had its time all the same.
      const isOver = until !== undefined && clock.monotonic() >= until
      events.ended(isOver ? { reason: null, refused: true } : { reason })
    },
    warn: events.warn,
  })
  if (until !== undefined)
    timers.push(
      clock.schedule(Math.max(0, until - clock.monotonic()), () => {
        end()
        events.ended({ reason: null, refused: true })
      }),
    )

  return {
    write: () => undefined,
    pause() {
      paused = true
    },
    resume() {
      paused = false
      const waiting = [...changed]
      changed.clear()
      for (const [key, service] of waiting) tell(key, service)
    },
    close() {
      end()
      events.ended({ reason: null })
    },
    destroy: end,
  }
}
