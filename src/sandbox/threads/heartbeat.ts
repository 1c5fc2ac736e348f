import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { countedTime, createProcessorTimeMeter } from '../../base/time/starvation.ts'

export interface HeartbeatSettings {
  clock: Clock
  /** Milliseconds between two signs of life. */
  interval: number
  /** Milliseconds of silence after which the worker counts as unresponsive. */
  limit: number
  ping(sequence: number): void
  /** Milliseconds for which its thread has waited for a processor in all; 0 where the system does not say. */
  waited(): number
  /** Whether the worker waits for the host now; then its silence is not its own. */
  waiting(): boolean
  unresponsive(): void
}

/**
 * Asks a worker for signs of life. Silence is counted in beats, not by the clock: when the host itself has
 * slept, the answers that wait are read before the next beat. A beat for which the worker hardly had a processor counts as much less.
 */
export interface Heartbeat {
  start(): void
  pong(sequence: number): void
  stop(): void
}

export function createHeartbeat(settings: HeartbeatSettings): Heartbeat {
  const { clock, interval, limit } = settings
  let next: ScheduledCall | undefined
  let sequence = 0
  let answered = 0
  let silence = 0
  const processorSinceBeat = createProcessorTimeMeter(clock, settings.waited)

  function beat(): void {
    next = undefined
    const had = processorSinceBeat()
    if (answered === sequence) silence = 0
    else if (!settings.waiting()) silence += countedTime(interval, had)
    if (silence >= limit) {
      settings.unresponsive()
      return
    }
    if (answered === sequence) {
      sequence += 1
      settings.ping(sequence)
    }
    next = clock.schedule(interval, beat)
  }

  return {
    start() {
      if (next === undefined) beat()
    },
    pong(number) {
      answered = number
    },
    stop() {
      next?.cancel()
      next = undefined
      answered = sequence
      silence = 0
    },
  }
}
