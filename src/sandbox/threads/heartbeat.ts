import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

export interface HeartbeatSettings {
  clock: Clock
  /** Milliseconds between two signs of life. */
  interval: number
  /** Milliseconds of silence after which the worker counts as unresponsive. */
  limit: number
  ping(sequence: number): void
  /** Whether the worker waits for the host now; then its silence is not its own. */
  waiting(): boolean
  unresponsive(): void
}

/**
 * Asks a worker for signs of life. Silence is counted in beats, not by the clock: when the host itself has
 * slept, the answers that wait are read before the next beat.
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

  function beat(): void {
    next = undefined
    if (answered === sequence) silence = 0
    else if (!settings.waiting()) silence += interval
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
