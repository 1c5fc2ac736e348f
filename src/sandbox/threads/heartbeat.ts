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
  /** Asked at each beat that finds it answered: whether it has hardly done anything since then. */
  idle(): boolean
  unresponsive(): void
}

/**
 * Asks a worker for signs of life. Silence is counted in beats, not by the clock: when the host itself has
 * slept, the answers that wait are read before the next beat. A beat for which the worker hardly had a processor counts as much less.
 * One that has been idle for some beats is not woken for the next: its event loop waits, so it is alive.
 */
export interface Heartbeat {
  start(): void
  pong(sequence: number): void
  stop(): void
}

/** Beats for which a worker is asked though it is idle: it looks at its memory each time, until it is sure what it keeps. */
const idleBeatsAsked = 4

export function createHeartbeat(settings: HeartbeatSettings): Heartbeat {
  const { clock, interval, limit } = settings
  let next: ScheduledCall | undefined
  let sequence = 0
  let answered = 0
  let silence = 0
  let idleBeats = 0
  const processorSinceBeat = createProcessorTimeMeter(clock, settings.waited)

  function beat(): void {
    next = undefined
    if (answered === sequence) {
      silence = 0
      idleBeats = settings.idle() ? idleBeats + 1 : 0
      if (idleBeats <= idleBeatsAsked) ask()
    } else {
      const had = processorSinceBeat()
      if (!settings.waiting()) silence += countedTime(interval, had)
      if (silence >= limit) {
        settings.unresponsive()
        return
      }
    }
    next = clock.schedule(interval, beat)
  }

  function ask(): void {
    sequence += 1
    processorSinceBeat()
    settings.ping(sequence)
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
