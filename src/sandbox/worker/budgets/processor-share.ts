import { countedTime, type ProcessorLook } from '../../../base/time/starvation.ts'

/**
 * Milliseconds from one question of Lua's count hook, which asks all the time, to the next that are looked at for want of a processor
 * as any others. What is more was a standstill, paused with its container or virtual machine: all that counts of it is for how long
 * the process had a processor.
 */
export const longestStep = 1_000
/** Milliseconds of Lua after which it is asked anew how much of a processor there was. */
export const processorInterval = 250

/** What Lua's time counts in a thread. Plugins that share it take turns, so what one of them finds out holds for all. */
export interface ProcessorShare {
  /** How many of so many milliseconds of Lua count. */
  counted(step: number): number
}

export function createProcessorShare(look: ProcessorLook): ProcessorShare {
  /** Milliseconds of Lua since the last look. */
  let ran = 0
  /** What one of them counts, 0 to 1: as found out last. What else the thread does makes it more, never less. */
  let share = 1

  return {
    counted(step) {
      ran += step
      if (ran >= processorInterval) {
        share = countedTime(ran, look(), longestStep) / ran
        ran = 0
      }
      return step * share
    },
  }
}
