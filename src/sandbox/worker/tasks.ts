import type { Activation, LuaRuntime } from './lua/lua-value.ts'
import type { LuaCall, Step, Steps, Wait, Waiting } from './lua/steps.ts'
import type { Runner, RunQueue } from './run-queue.ts'
import { addWait, hurry, openAccount, type TimeAccount, type TimeBudget } from './time-budget.ts'

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
  /** Has `moreWork` asked, in a slice. */
  schedule(): void
  /** Nothing is done any more. */
  close(): void
}

export interface TasksSettings {
  runtime: LuaRuntime
  budget: TimeBudget
  queue: RunQueue
  /** Others share the worker, so that nothing may keep it for long. */
  preemptive: boolean
  monotonic(): number
  /** Milliseconds for a call without an account. */
  milliseconds: number
  /** Runs a part of a task as this isolate's turn. */
  turn<T>(task: () => T): T
  /** Called when Lua has been left. */
  left(account: TimeAccount): void
  /** Does what is due while no task is under way, for as long as `mayGoOn`; answers whether there is more. */
  moreWork(mayGoOn: () => boolean): boolean
  /** A task has thrown, and is over with it. */
  failed(error: unknown): void
}

/** Something that another plugin wants. */
export interface ServedCall {
  number: number
  steps: Steps<void>
  /** It was left out. */
  cancelled(): void
}

interface CallUnderWay {
  readonly activation: Activation
  readonly account: TimeAccount
}

interface Task {
  readonly steps: Steps<void>
  /** After it nothing is done any more. */
  readonly last: boolean
  /** It can be set aside, and waits without keeping the stack. */
  readonly preemptive: boolean
  state: 'ready' | 'running' | 'waiting'
  call: CallUnderWay | undefined
  waiting: Waiting | undefined
  /** Goes on with the steps. */
  advance: () => IteratorResult<Step, void>
}

/** Milliseconds that a call which is under way has for its end in a worker that others share. */
const timeToEnd = 400

export function createTasks(settings: TasksSettings): Tasks {
  const { runtime, budget, queue, preemptive, monotonic, milliseconds } = settings
  /** Under way, the one that may go on last: it was begun while the one before waits. */
  const stack: Task[] = []
  let waiting: Task[] = []
  let calls: ServedCall[] = []
  let closed = false
  /** Its own slice is on the stack. */
  let inSlice = false
  /** The last task has been begun, or waits for what is under way. */
  let ending = false
  /** Waits of its that keep the stack. */
  let waitsOnSpot = 0

  const runner: Runner = {
    runSlice: () => settings.turn(runSlice),
    get isEnding() {
      return ending
    },
  }
  const mayGoOn = (): boolean => !queue.sliceIsOver()
  const idle = (): boolean => stack.length === 0 && waiting.length === 0 && calls.length === 0

  const taskOf = (steps: Steps<void>, mayBeSetAside: boolean): Task => ({
    steps,
    last: false,
    preemptive: mayBeSetAside,
    state: 'ready',
    call: undefined,
    waiting: undefined,
    advance: () => steps.next(),
  })

  const mayServe = (): boolean => {
    const top = stack.at(-1)
    return top === undefined || top.state === 'waiting'
  }

  function canRun(): boolean {
    if (closed) return false
    if (stack.at(-1)?.state === 'ready') return true
    return (mayServe() && calls.length > 0) || (stack.length === 0 && waiting.length > 0)
  }

  function next(): Task | undefined {
    if (!canRun()) return undefined
    const top = stack.at(-1)
    if (top?.state === 'ready') return top
    const call = mayServe() ? calls.shift() : undefined
    const task = call === undefined ? waiting.shift() : taskOf(call.steps, preemptive)
    if (task !== undefined) stack.push(task)
    return task
  }

  function runSlice(): boolean {
    const outer = inSlice
    inSlice = true
    try {
      for (let task = next(); task !== undefined; task = next()) {
        run(task)
        // Whether there is more work besides is found out in the next slice.
        if (!mayGoOn()) return stack.length === 0 || canRun()
      }
      if (closed || stack.length > 0) return false
      return settings.moreWork(() => mayGoOn() && idle() && !closed) || canRun()
    } finally {
      inSlice = outer
    }
  }

  /** Goes on with a task until it ends, waits, or its slice is over. */
  function run(task: Task): void {
    task.state = 'running'
    try {
      for (;;) {
        if (task.call !== undefined && !goOnCalling(task, task.call)) return
        const step = task.advance()
        if (step.done === true) break
        const { value } = step
        if (value.kind === 'call') beginCall(task, value)
        else if (value.kind === 'pause') task.advance = () => task.steps.next()
        else if (!wait(task, value)) return
        if (task.preemptive && task.call === undefined && queue.sliceIsOver()) {
          task.state = 'ready'
          return
        }
      }
    } catch (error) {
      settings.failed(error)
    }
    // None is on top of it: it would not have gone on.
    if (stack.at(-1) === task) stack.pop()
  }

  function beginCall(task: Task, { callee, args, account = openAccount(milliseconds) }: LuaCall): void {
    if (task.preemptive) {
      if (ending && !task.last) hurry(account, timeToEnd)
      task.call = { activation: runtime.activate(callee, ...args), account }
      return
    }
    conclude(task, () => budget.run(account, () => runtime.call(callee, ...args)))
    settings.left(account)
  }

  /** A slice of the call that is under way; false when it was set aside. */
  function goOnCalling(task: Task, { activation, account }: CallUnderWay): boolean {
    let result: ReturnType<Activation['resume']> | undefined
    try {
      result = budget.run(account, activation.resume)
    } catch (error) {
      task.advance = () => task.steps.throw(error)
    }
    if (result?.done === false) {
      if (result.aside === 'slice') task.state = 'ready'
      else suspend(task, result.aside, account)
      return false
    }
    if (result !== undefined) {
      const { values } = result
      task.advance = () => task.steps.next(values)
    }
    task.call = undefined
    settings.left(account)
    return true
  }

  /** Has the steps go on with what `produce` gives, or throws. */
  function conclude(task: Task, produce: () => unknown): void {
    let produced: unknown
    try {
      produced = produce()
    } catch (error) {
      task.advance = () => task.steps.throw(error)
      return
    }
    task.advance = () => task.steps.next(produced)
  }

  /** Waits between two calls; false when it goes on later. */
  function wait(task: Task, wanted: Wait): boolean {
    if (!task.preemptive) {
      conclude(task, wanted.now)
      return true
    }
    const begun = wanted.begin()
    task.advance = () => {
      conclude(task, begun.take)
      return task.advance()
    }
    if (begun.settled) return true
    suspend(task, begun, undefined)
    return false
  }

  function suspend(task: Task, answer: Waiting, account: TimeAccount | undefined): void {
    const begun = monotonic()
    const wake = (): void => {
      if (account !== undefined) addWait(account, monotonic() - begun)
      task.waiting = undefined
      task.state = 'ready'
      // Its own slice looks for what is ready when it goes on.
      if (!closed && !inSlice) queue.add(runner)
    }
    if (ending && !task.last) answer.giveUp()
    if (answer.settled) {
      wake()
      return
    }
    task.state = 'waiting'
    task.waiting = answer
    answer.wake = wake
    answer.start?.()
  }

  /** At once, if nobody waits for a slice. */
  function begin(mayBeginNow: boolean): void {
    if (inSlice) {
      const task = mayBeginNow ? next() : undefined
      if (task !== undefined) run(task)
    } else if (!mayBeginNow || !queue.isEmpty || queue.slice(runner.runSlice)) queue.add(runner)
  }

  return {
    start(steps) {
      if (closed) return
      if (runtime.inside) {
        runtime.complete(steps)
        return
      }
      const mayBeginNow = idle()
      waiting.push(taskOf(steps, preemptive))
      begin(mayBeginNow)
    },
    startLast(steps) {
      waiting = [{ ...taskOf(steps, preemptive), last: true }]
      calls = []
      if (preemptive) {
        ending = true
        for (const { call, waiting: answer } of stack) {
          if (call !== undefined) hurry(call.account, timeToEnd)
          answer?.giveUp()
        }
      }
      begin(stack.length === 0)
    },
    serve(call) {
      if (closed) return
      if (waitsOnSpot > 0) {
        settings.turn(() => runtime.apart(() => run(taskOf(call.steps, false))))
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
    schedule() {
      if (!closed && !inSlice) queue.add(runner)
    },
    close() {
      closed = true
      queue.remove(runner)
      for (const { waiting: answer } of stack) answer?.giveUp()
      stack.length = 0
      waiting = []
      calls = []
    },
  }
}
