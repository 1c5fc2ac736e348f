import type { TimeAccount } from '../budgets/time-budget.ts'
import type { LuaFunction, LuaValue } from './lua-value.ts'

/** Wants a Lua function called; its results come back, or what it raised is thrown as a `LuaError`. */
export interface LuaCall {
  readonly kind: 'call'
  readonly callee: LuaFunction
  readonly args: readonly LuaValue[]
  /** Whose time it takes; undefined: its own, as any callback has. */
  readonly account?: TimeAccount
}

/** Wants an answer from outside of the Lua state. */
export interface Wait<T = unknown> {
  readonly kind: 'wait'
  /** Waits on the spot, with all that is on the stack. Throws when there is no answer. */
  now(): T
  /** Begins to wait, so that others can run meanwhile. */
  begin(): Waiting<T>
}

/** An answer that is to come. */
export interface Waiting<T = unknown> {
  readonly settled: boolean
  /** Called once when it has come; set it while `settled` is false. */
  wake: (() => void) | undefined
  /** Has begun what is waited for. Called once, when little or nothing of who waits is on the stack; it may be settled in it. */
  start?: (() => void) | undefined
  /** The answer, once settled. Throws when there is none. */
  take(): T
  /** Nobody waits for it any more: it is settled without an answer. */
  giveUp(): void
}

/** In the midst of long work: others may have their turn, and whoever has to stop is stopped. */
export interface Pause {
  readonly kind: 'pause'
}

/** What steps can want on their way. */
export type Step = LuaCall | Wait | Pause

/**
 * JavaScript code that has Lua called, or waits, on its way. It is a generator, so that it can be set aside in the
 * midst of it, and go on later, as the Lua code around and within it.
 */
export type Steps<T> = Generator<Step, T, unknown>

/** Goes on with what `produce` gives, or throws. */
export function advanceWith<T>(steps: Steps<T>, produce: () => unknown): IteratorResult<Step, T> {
  let answer: unknown
  try {
    answer = produce()
  } catch (error) {
    return steps.throw(error)
  }
  return steps.next(answer)
}

/** To be yielded about every millisecond. */
export const pause: Pause = { kind: 'pause' }

export function* callLua(callee: LuaFunction, ...args: LuaValue[]): Steps<LuaValue[]> {
  return (yield { kind: 'call', callee, args }) as LuaValue[]
}

/** The same on an account that other calls have, too. */
export function* callOn(account: TimeAccount, callee: LuaFunction, ...args: LuaValue[]): Steps<LuaValue[]> {
  return (yield { kind: 'call', callee, args, account }) as LuaValue[]
}

export function* waitFor<T>(wait: Wait<T>): Steps<T> {
  return (yield wait) as T
}
