import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'

/** How often the delay of the event loop is measured, in milliseconds, while somebody reads it: fine enough to see a hitch. */
const watchedResolution = 20
/** The same while nobody does: each measurement wakes a host that may have nothing else to do. */
const unwatchedResolution = 1_000
/** After how much time, in milliseconds, the measurement of the delay starts anew. */
const delayWindow = 60_000
/** How often it is looked whether somebody still reads, in milliseconds: who collects metrics may do so once a minute. */
const readCheckInterval = 120_000
const nanoseconds = 1e9
const microseconds = 1e6

/** What the process takes. Times in seconds, sizes in bytes. */
export interface ProcessReading {
  cpuUser: number
  cpuSystem: number
  resident: number
  heapUsed: number
  heapTotal: number
  outsideHeap: number
  /** Time in which the host's thread was busy and idle, since the start of the process. */
  active: number
  idle: number
  /** How much later than asked for things happen, over about the last minute. */
  delay: { mean: number; median: number; p99: number; longest: number }
}

export interface ProcessUsage {
  /** Starts to measure the delay of the event loop. */
  start(): void
  read(): ProcessReading
  /** Stops measuring. Idempotent. */
  close(): void
}

export function createProcessUsage(clock: Clock): ProcessUsage {
  let resolution = unwatchedResolution
  /** None before it is started: Node takes one that never was for an open handle. */
  let delays: IntervalHistogram | undefined
  let since = clock.monotonic()
  /** Somebody has read since it was looked last. */
  let isRead = false
  let looking: ScheduledCall | undefined
  /** As it was known last. */
  let memory = process.memoryUsage()

  function measure(milliseconds: number): void {
    delays?.disable()
    resolution = milliseconds
    delays = monitorEventLoopDelay({ resolution })
    delays.enable()
    since = clock.monotonic()
  }

  function look(): void {
    if (!isRead) measure(unwatchedResolution)
    isRead = false
  }

  function readDelay(): ProcessReading['delay'] {
    isRead = true
    // What is measured is the time between two looks, so the time between them is not a delay.
    const beyond = (value: number): number =>
      Number.isFinite(value) ? Math.max(0, value / nanoseconds - resolution / 1_000) : 0
    const delay =
      delays === undefined || delays.count === 0
        ? { mean: 0, median: 0, p99: 0, longest: 0 }
        : {
            mean: beyond(delays.mean),
            median: beyond(delays.percentile(50)),
            p99: beyond(delays.percentile(99)),
            longest: beyond(delays.max),
          }
    const isDue = resolution !== watchedResolution || clock.monotonic() - since >= delayWindow
    // Not after the end, when somebody may still be answered.
    if (isDue && looking !== undefined) measure(watchedResolution)
    return delay
  }

  /** The system does not say it while no file descriptor is left, which is when people look here. */
  function readMemory(): void {
    try {
      memory = process.memoryUsage()
    } catch {
      // What was known before is shown.
    }
  }

  return {
    start() {
      measure(unwatchedResolution)
      looking ??= every(clock, readCheckInterval, look)
    },
    read() {
      const cpu = process.cpuUsage()
      readMemory()
      const { active, idle } = performance.eventLoopUtilization()
      return {
        cpuUser: cpu.user / microseconds,
        cpuSystem: cpu.system / microseconds,
        resident: memory.rss,
        heapUsed: memory.heapUsed,
        heapTotal: memory.heapTotal,
        outsideHeap: memory.external,
        active: active / 1_000,
        idle: idle / 1_000,
        delay: readDelay(),
      }
    },
    close() {
      looking?.cancel()
      looking = undefined
      delays?.disable()
    },
  }
}
