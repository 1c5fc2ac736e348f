import type { Clock, ScheduledCall } from '../../base/clock.ts'
import { type TurnRules, turnCells } from '../../schema/turn-cells.ts'
import type { SandboxLimits } from '../limits.ts'

/** The host's end of the cells in which a shared worker shows whose turn it is. */
export interface TurnWatchdog {
  /** For the worker. */
  readonly rules: TurnRules
  /** Whom the end of the worker is to be put down to; undefined when nobody has run. */
  culprit(kind: 'hang' | 'memory' | 'other'): number | undefined
  start(): void
  stop(): void
}

export interface TurnWatchdogSettings {
  clock: Clock
  limits: SandboxLimits
  /** This isolate runs, and cannot be asked to stop: only the end of the worker stops it. */
  hung(isolate: number): void
}

/** Share of a beat for which this process has to have had a processor, or else the beat is made longer. */
const busyShare = 0.8
/** So many times as long at most: who waits takes no processor time, and others wait for it all the same. */
const longestBeat = 3

/**
 * Beats the time for a shared worker, and looks whether it still takes turns. Silence is counted in beats, not
 * by the clock: a host that was asleep, or busy, or on a machine with other things to do, does not blame a plugin for it.
 */
export function createTurnWatchdog({ clock, limits, hung }: TurnWatchdogSettings): TurnWatchdog {
  const buffer = new SharedArrayBuffer(turnCells.count * Int32Array.BYTES_PER_ELEMENT)
  const cells = new Int32Array(buffer)
  const megabyte = 1024 * 1024
  let next: ScheduledCall | undefined
  let lastProgress = 0
  let silence = 0
  let ticks = 0
  let lastProcessorTime = clock.processorTime()

  function tick(): void {
    next = clock.schedule(limits.beatInterval, tick)
    ticks += 1
    const processorTime = clock.processorTime()
    const isShortOfTime = processorTime - lastProcessorTime < limits.beatInterval * busyShare
    if (isShortOfTime && ticks < longestBeat) return
    ticks = 0
    lastProcessorTime = processorTime
    beat()
  }

  function beat(): void {
    Atomics.add(cells, turnCells.beat, 1)
    const running = Atomics.load(cells, turnCells.running)
    const progress = Atomics.load(cells, turnCells.progress)
    const isCollecting = Atomics.load(cells, turnCells.collecting) !== 0
    if (running === 0 || progress !== lastProgress) silence = 0
    else if (!isCollecting) silence += 1
    lastProgress = progress
    if (silence < limits.hangBeats) return
    stop()
    hung(running)
  }

  function stop(): void {
    next?.cancel()
    next = undefined
  }

  const shown = (cell: 'running' | 'last' | 'largest'): number | undefined =>
    Atomics.load(cells, turnCells[cell]) || undefined

  return {
    rules: {
      cells: buffer,
      stretchBeats: limits.stretchBeats,
      loadBeats: limits.loadBeats,
      windowBeats: limits.windowBeats,
      windowShare: limits.windowShare,
      heapBytes: limits.sharedHeapMegabytes * megabyte * limits.sharedMemoryShare,
      outsideBytes: limits.sharedStringMegabytes * megabyte * limits.sharedMemoryShare,
    },
    culprit(kind) {
      const running = shown('running')
      if (kind !== 'memory') return running ?? shown('last')
      // What did not fit was asked for by the one that ran. Between two turns it is the one that kept most.
      return running ?? shown('largest') ?? shown('last')
    },
    start() {
      next ??= clock.schedule(limits.beatInterval, tick)
    },
    stop,
  }
}
