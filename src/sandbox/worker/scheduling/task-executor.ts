import type { Activation, LuaRuntime, LuaValue } from '../lua/lua-value.ts'
import { advanceWith, type LuaCall, type Step, type Steps, type Wait, type Waiting } from '../lua/steps.ts'
import type { Runner, RunQueue } from './run-queue.ts'
import { addWait, hurry, openAccount, type TimeAccount, type TimeBudget } from '../budgets/time-budget.ts'

interface CallUnderWay {
  readonly activation: Activation
  readonly account: TimeAccount
}

/** One thing that an isolate does. */
export interface Task {
  readonly steps: Steps<void>
  /** After it nothing is done any more. */
  readonly last: boolean
  /** It can be set aside, and waits without keeping the stack. */
  readonly preemptive: boolean
  state: 'ready' | 'running' | 'waiting'
  /** Since it has been set aside last. */
  hasCalled: boolean
  call: CallUnderWay | undefined
  waiting: Waiting | undefined
  /** Goes on with the steps. */
  advance: () => IteratorResult<Step, void>
}

export const createTask = (steps: Steps<void>, isPreemptive: boolean): Task => ({
  steps,
  last: false,
  preemptive: isPreemptive,
  state: 'ready',
  hasCalled: false,
  call: undefined,
  waiting: undefined,
  advance: () => steps.next(),
})

/** Where an isolate is with its tasks: fields, not functions, for each call looks at them. */
export interface IsolateRunner extends Runner {
  /** The last task has been begun, or waits for what is under way. */
  isEnding: boolean
  /** Its own slice is on the stack. */
  inSlice: boolean
  /** Nothing is done any more. */
  closed: boolean
}

export interface TaskExecutorSettings {
  runtime: LuaRuntime
  budget: TimeBudget
  queue: RunQueue
  monotonic(): number
  /** Milliseconds for a call without an account. */
  milliseconds: number
  /** What a task that can be set aside waits for before it goes on: the host is behind with what was sent. */
  room?: (() => Waiting | undefined) | undefined
  /** Called when Lua has been left. */
  left(account: TimeAccount): void
  /** A task has thrown, and is over with it. */
  failed(error: unknown): void
}

/** Takes the steps of a task: has Lua called for it, and waits for answers. */
export interface TaskExecutor {
  /** Goes on with a task until it ends, waits, or its slice is over. */
  run(task: Task): void
  /** From now on all but the last one have little time left, and wait for nobody any more. */
  hurryAll(): void
}

/** Milliseconds that a call which is under way has for its end in a worker that others share. */
const timeToEnd = 400

/** `stack`: those under way; one that has ended is taken off it. */
export function createTaskExecutor(
  settings: TaskExecutorSettings,
  runner: IsolateRunner,
  stack: Task[],
): TaskExecutor {
  const { runtime, budget, queue, monotonic, milliseconds } = settings

  /** Goes on with a task until it ends, waits, or its slice is over. */
  function run(task: Task): void {
    task.state = 'running'
    try {
      for (;;) {
        if (task.call !== undefined && !goOnCalling(task, task.call)) return
        const step = task.advance()
        if (step.done === true) break
        const { value } = step
        if (value.kind === 'call') {
          // Most tasks have Lua called once, and are spared the look.
          if (task.hasCalled && !mayGoOn(task)) {
            task.hasCalled = false
            task.advance = () => step
            return
          }
          beginCall(task, value)
        } else if (value.kind === 'pause') task.advance = () => task.steps.next()
        else if (!wait(task, value)) return
        if (task.preemptive && task.call === undefined && !mayGoOn(task)) return
      }
    } catch (error) {
      settings.failed(error)
    }
    // None is on top of it: it would not have gone on.
    if (stack.at(-1) === task) stack.pop()
  }

  /** Between two steps: false when the slice is over, or there is no room for what the next one may send. */
  function mayGoOn(task: Task): boolean {
    const waiting = settings.room?.()
    if (waiting !== undefined) suspend(task, waiting, undefined)
    else if (queue.sliceIsOver()) task.state = 'ready'
    return task.state === 'running'
  }

  function beginCall(task: Task, { callee, args, account = openAccount(milliseconds) }: LuaCall): void {
    if (task.preemptive) {
      task.hasCalled = true
      if (runner.isEnding && !task.last) hurry(account, timeToEnd)
      task.call = { activation: runtime.activate(callee, ...args), account }
      return
    }
    const call = (): LuaValue[] => {
      try {
        return budget.run(account, () => runtime.call(callee, ...args))
      } finally {
        settings.left(account)
      }
    }
    task.advance = () => advanceWith(task.steps, call)
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
      if (result.suspended === 'slice') task.state = 'ready'
      else suspend(task, result.suspended, account)
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

  /** Waits between two calls; false when it goes on later. */
  function wait(task: Task, wanted: Wait): boolean {
    if (!task.preemptive) {
      task.advance = () => advanceWith(task.steps, wanted.now)
      return true
    }
    const begun = wanted.begin()
    task.advance = () => advanceWith(task.steps, begun.take)
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
      if (!runner.closed && !runner.inSlice) queue.add(runner)
    }
    if (runner.isEnding && !task.last) answer.giveUp()
    if (answer.settled) {
      wake()
      return
    }
    task.state = 'waiting'
    task.waiting = answer
    answer.wake = wake
    answer.start?.()
  }

  return {
    run,
    hurryAll() {
      runner.isEnding = true
      for (const { call, waiting: answer } of stack) {
        if (call !== undefined) hurry(call.account, timeToEnd)
        answer?.giveUp()
      }
    },
  }
}
