import type { Clock } from '../base/clock.ts'

/** Milliseconds at a stretch for what one plugin asks; then others have their turn. */
const sliceLimit = 10

/** Does one step of a task; true when that was the last one. */
export type Task = () => boolean

/**
 * What one isolate has said, worked off in order and in slices: a batch that is dear for the host, say because two
 * hundred subscribers get each of its messages, must not keep it from everything else until it is done.
 */
export interface Intake {
  add(task: Task): void
  /** Resolves when all of it has been worked off. */
  idle(): Promise<void>
}

export function createIntake(clock: Clock): Intake {
  let tasks: Task[] = []
  let turn: NodeJS.Immediate | undefined
  let working = false
  const waiting: (() => void)[] = []

  function work(end: number): void {
    working = true
    let done = 0
    try {
      for (let task = tasks[done]; task !== undefined; task = tasks[done]) {
        while (!task()) {
          if (clock.monotonic() >= end) return
        }
        done += 1
        if (clock.monotonic() >= end) return
      }
    } finally {
      tasks = tasks.slice(done)
      working = false
      if (tasks.length === 0) for (const resolve of waiting.splice(0)) resolve()
    }
  }

  function slice(): void {
    turn = undefined
    work(clock.monotonic() + sliceLimit)
    if (tasks.length > 0) turn ??= setImmediate(slice)
  }

  return {
    add(task) {
      tasks.push(task)
      if (!working && turn === undefined) slice()
    },
    idle() {
      if (tasks.length === 0) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
  }
}
