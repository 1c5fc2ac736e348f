import { countedTime, type ProcessorTimeMeter } from '../../../base/time/starvation.ts'

/**
 * Milliseconds between two calls of Lua's count hook, which comes all the time, beyond which the process stood still, paused with its
 * container or virtual machine: of what is more only the time counts in which the process had a processor.
 */
export const longestStep = 1_000
/** Milliseconds of Lua after which the meter is read again. */
export const processorInterval = 250

/** How much of Lua's time in a thread is counted, as others may have had the processor. One for all plugins of the thread. */
export interface ProcessorShare {
  /** How many of so many milliseconds of Lua count. */
  counted(step: number): number
}

export function createProcessorShare(processorTime: ProcessorTimeMeter): ProcessorShare {
  /** Milliseconds of Lua since the meter was read last. */
  let ran = 0
  /** What one of them counts, 0 to 1: as found out last. What else the thread does makes it more, never less. */
  let share = 1

  return {
    counted(step) {
      ran += step
      if (ran >= processorInterval) {
        share = countedTime(ran, processorTime(), longestStep) / ran
        ran = 0
      }
      return step * share
    },
  }
}
