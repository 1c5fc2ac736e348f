import type { Steps } from '../lua/steps.ts'
import {
  createTask,
  createTaskExecutor,
  type IsolateRunner,
  type Task,
  type TaskExecutorSettings,
} from './task-executor.ts'

/**
 * What one isolate has to do, one thing after the other: each task has Lua called, or waits for answers, and begins
 * when the one before has ended. In a worker that others share it is set aside when its slice is over, and goes on
 * where it was. Only calls of other plugins are taken in between, while the task before waits for somebody else.
 */
export interface Tasks {
  /** Begins it, now or in its turn. Within Lua all of it is done on the spot. */
  start(steps: Steps<void>): void
  /**
   * Begins it as the last one: what has not begun is left out. Where others share the worker what is under way has little
   * time left, and waits for nobody any more.
   */
  startLast(steps: Steps<void>): void
  /** The same for what another plugin wants: it does not wait for a task that waits itself. */
  serve(call: ServedCall): void
  /** Leaves out the call of this number if it has not begun. */
  cancel(call: number): void
  /** Runs `wait`, which keeps the stack: meanwhile others are served on top of it. */
  whileWaiting<T>(wait: () => T): T
  /** The task under way was set aside because its slice was over. */
  readonly isSuspended: boolean
  /** Has `moreWork` asked, in a slice. */
  schedule(): void
  /** Nothing is done any more. */
  close(): void
}

export interface TasksSettings extends TaskExecutorSettings {
  /** Others share the worker, so that nothing may keep it for long. */
  preemptive: boolean
  /** Runs a part of a task as this isolate's turn. */
  turn<T>(task: () => T): T
  /** Does what is due while no task is under way, for as long as `mayGoOn`; answers whether there is more. */
  moreWork(mayGoOn: () => boolean): boolean
}

/** Something that another plugin wants. */
export interface ServedCall {
  number: number
  steps: Steps<void>
  /** It was left out. */
  cancelled(): void
}

export function createTasks(settings: TasksSettings): Tasks {
  const { runtime, queue, preemptive } = settings
  /** Under way, the one that may go on last: it was begun while the one before waits. */
  const stack: Task[] = []
  let waiting: Task[] = []
  let calls: ServedCall[] = []
  /** The last of those that wait for what was delivered before its turn. */
  let delivered: Task | undefined
  let lastWasCall = false
  /** Waits of its that keep the stack. */
  let waitsOnSpot = 0

  const runner: IsolateRunner = {
    runSlice: () => settings.turn(runSlice),
    isEnding: false,
    inSlice: false,
    closed: false,
  }
  const { run, hurryAll } = createTaskExecutor(settings, runner, stack)
  const mayGoOn = (): boolean => !queue.sliceIsOver()
  const idle = (): boolean => stack.length === 0 && waiting.length === 0 && calls.length === 0

  const mayServe = (): boolean => {
    const top = stack.at(-1)
    return top === undefined || top.state === 'waiting'
  }

  function canRun(): boolean {
    if (runner.closed) return false
    if (stack.at(-1)?.state === 'ready') return true
    return (mayServe() && calls.length > 0) || (stack.length === 0 && waiting.length > 0)
  }

  function next(): Task | undefined {
    if (!canRun()) return undefined
    const top = stack.at(-1)
    if (top?.state === 'ready') return top
    // In turn: who is called without a pause still has its own to do.
    const isTurnOfOwn = lastWasCall && top === undefined && waiting.length > 0
    const call = mayServe() && !isTurnOfOwn ? calls.shift() : undefined
    lastWasCall = call !== undefined
    const task = call === undefined ? waiting.shift() : createTask(call.steps, preemptive)
    if (task === delivered) delivered = undefined
    if (task !== undefined) stack.push(task)
    return task
  }

  /**
   * One delivery takes its place behind what waits already, when the one before has had its turn: there may always be a
   * timer that is due, or a call.
   */
  function deliverInTurn(): void {
    if (delivered !== undefined || stack.length > 0 || runner.isEnding || idle()) return
    const before = waiting.length
    let isFirst = true
    settings.moreWork(() => {
      const mayBegin = isFirst
      isFirst = false
      return mayBegin
    })
    if (waiting.length > before) delivered = waiting.at(-1)
  }

  function runSlice(): boolean {
    const outer = runner.inSlice
    runner.inSlice = true
    try {
      for (;;) {
        deliverInTurn()
        const task = next()
        if (task === undefined) break
        run(task)
        // Whether there is more work besides is found out in the next slice.
        if (!mayGoOn()) return !runner.closed && (stack.length === 0 || canRun())
      }
      if (runner.closed || stack.length > 0) return false
      return settings.moreWork(() => mayGoOn() && idle() && !runner.closed) || canRun()
    } finally {
      runner.inSlice = outer
    }
  }

  /** At once, if nobody waits for a slice. */
  function begin(mayBeginNow: boolean): void {
    if (runner.inSlice) {
      const task = mayBeginNow ? next() : undefined
      if (task !== undefined) run(task)
    } else if (mayBeginNow) queue.run(runner)
    else queue.add(runner)
  }

  return {
    start(steps) {
      if (runner.closed) return
      if (runtime.inside) {
        runtime.complete(steps)
        return
      }
      const mayBeginNow = idle()
      waiting.push(createTask(steps, preemptive))
      begin(mayBeginNow)
    },
    startLast(steps) {
      waiting = [{ ...createTask(steps, preemptive), last: true }]
      calls = []
      if (preemptive) hurryAll()
      begin(stack.length === 0)
    },
    serve(call) {
      if (runner.closed) return
      if (waitsOnSpot > 0) {
        settings.turn(() => runtime.apart(() => run(createTask(call.steps, false))))
        return
      }
      const mayBeginNow = mayServe() && calls.length === 0
      calls.push(call)
      begin(mayBeginNow)
    },
    cancel(call) {
      const cancelled = calls.find(({ number }) => number === call)
      calls = calls.filter((each) => each !== cancelled)
      cancelled?.cancelled()
    },
    whileWaiting(wait) {
      waitsOnSpot += 1
      try {
        return wait()
      } finally {
        waitsOnSpot -= 1
      }
    },
    get isSuspended() {
      return stack.at(-1)?.state === 'ready'
    },
    schedule() {
      if (!runner.closed && !runner.inSlice) queue.add(runner)
    },
    close() {
      runner.closed = true
      queue.remove(runner)
      for (const { waiting: answer } of stack) answer?.giveUp()
      stack.length = 0
      waiting = []
      calls = []
    },
  }
}
