import { platform, uptime } from 'node:os'

/**
 * Elapsed time for what is agreed on between machines, in milliseconds since some beginning: the larger of the monotonic and
 * the boot clock. The monotonic one stands still while a machine sleeps. It never goes back.
 */
export type ElapsedTime = () => number

export interface ElapsedSources {
  /** Milliseconds each. `monotonic` and `wall` are cheap to read, `boot` counts while the machine sleeps. */
  monotonic(): number
  boot(): number
  wall(): number
  /** Milliseconds between two values that `boot` can have. */
  bootStep: number
}

/** Milliseconds for which the boot clock need not be read again: Node reads a file for it, which takes 7 µs. */
const readEvery = 10

export const systemElapsedSources: ElapsedSources = {
  monotonic: () => performance.now(),
  boot: () => uptime() * 1_000,
  wall: () => Date.now(),
  // Hundredths on Linux, where Node reads /proc/uptime.
  bootStep: platform() === 'linux' ? 10 : 1_000,
}

export function createElapsedTime(sources: ElapsedSources = systemElapsedSources): ElapsedTime {
  const { monotonic, boot, wall, bootStep } = sources
  const begin = { monotonic: monotonic(), boot: boot() }
  let read = { monotonic: begin.monotonic, wall: wall() }
  /** How far the boot clock has come before the monotonic one. */
  let slept = 0

  return () => {
    const now = monotonic()
    const passed = now - read.monotonic
    // A machine that wakes up sets its time of day on, too: that tells to look again, and decides nothing.
    if (passed >= readEvery || Math.abs(wall() - read.wall - passed) >= readEvery) {
      read = { monotonic: now, wall: wall() }
      // What may come of its steps says nothing.
      slept = Math.max(slept, boot() - begin.boot - (now - begin.monotonic) - bootStep)
    }
    return now - begin.monotonic + slept
  }
}
