import { type Clock, systemClock } from '../../../base/time/clock.ts'

/** The system's clock, read without `performance`, which a new worker would have to load first, and which has no `process`. */
export const workerClock: Clock = {
  ...systemClock,
  monotonic() {
    const [seconds, nanoseconds] = globalThis.process.hrtime()
    return seconds * 1_000 + nanoseconds / 1_000_000
  },
  processorTime() {
    const { user, system } = globalThis.process.cpuUsage()
    return (user + system) / 1_000
  },
}
