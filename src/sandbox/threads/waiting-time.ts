import { readFileSync } from 'node:fs'

/**
 * Milliseconds that a thread of this process has been ready to run and has waited for a processor, as Linux counts them:
 * its second number in `schedstat` is in nanoseconds. Undefined: the system does not say. A read takes some 15 µs.
 */
export function waitingTimeOf(thread: number): number | undefined {
  try {
    const [, waited] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ')
    const milliseconds = Number(waited) / 1e6
    return Number.isFinite(milliseconds) ? milliseconds : undefined
  } catch {
    return undefined
  }
}
