import { cutText } from '../../../base/text/cut-text.ts'
import type { PluginCall, PluginCallOutcome, Reference } from '../../../schema/worker/plugin-call.ts'
import type { AnswerMessage, UrgentMessage } from '../../../schema/worker/worker-protocol.ts'
import type { Question } from '../../../schema/worker/question.ts'
import type { Link } from './linked-calls.ts'

/** A call that another plugin makes: through the host, or from within this worker. */
export interface ReceivedCall extends Extract<UrgentMessage, { kind: 'call' }> {
  /** The isolate that calls, when it does not call through the host; the number of the call is negative then. */
  callerIsolate?: number
  /** On what it has come from another worker, and the caller's number for it. */
  link?: Link
  number?: number
}

/**
 * Calls from one plugin to another in the same worker. The host need not hear of one that hands nothing over: so it
 * takes a fraction of the time. What has been done before the call, and in it, has still happened at the host before
 * what comes after it: who has something on its way to the host calls through the host, and so does the answer come.
 */
export interface LocalCalls {
  takes(isolate: number, question: Question): question is PluginCall
  /** Makes it known; answers how to begin with it. */
  prepare(isolate: number, number: number, question: PluginCall, milliseconds: number): () => void
  /** Nobody waits for it any more; false when it is no such call. */
  abandon(number: number): boolean
  /** `settled`: the host has taken all that the callee has sent. False when it is no such call. */
  answer(call: ReceivedCall, outcome: PluginCallOutcome, settled: boolean): boolean
  /** The isolate has ended, and answers no call any more. */
  ended(isolate: number): void
}

export interface LocalCallsSettings {
  /** Full id of the plugin in this isolate of this worker; undefined: there is none. */
  pluginOf(isolate: number): string | undefined
  /** Does what the call asks for, now or when it is its turn. */
  work(call: ReceivedCall): void
  /** Leaves it out if it has not begun. */
  cancel(isolate: number, call: number): void
  answered(answer: AnswerMessage): void
  /**
   * Has the host count what goes from one isolate to another, after all that the first one has sent; one of the two hears
   * what came of it.
   */
  handOver(
    from: number,
    to: number,
    references: readonly Reference[],
    milliseconds: number,
    done: () => void,
    failed: (error: Error) => void,
  ): void
}

interface LocalCall {
  caller: number
  owner: number
  milliseconds: number
  begun: boolean
}

export function createLocalCalls(settings: LocalCallsSettings): LocalCalls {
  const { pluginOf, work, cancel, answered, handOver } = settings
  const pending = new Map<number, LocalCall>()

  function refuse({ caller }: LocalCall, number: number, message: string, gone?: number): void {
    answered({ kind: 'answer', isolate: caller, number, ok: false, message, gone })
  }

  function conclude(call: LocalCall, number: number, outcome: PluginCallOutcome): void {
    if (!pending.delete(number)) return
    if (!outcome.ok) refuse(call, number, `${pluginOf(call.owner) ?? ''}: ${cutText(outcome.message)}`)
    else answered({ kind: 'answer', isolate: call.caller, number, ok: true, value: outcome.serialized })
  }

  return {
    takes: (isolate, question): question is PluginCall =>
      question.kind === 'callPlugin' &&
      question.background === undefined &&
      isGivenBack(question.serialized.references, question.owner) &&
      question.owner !== isolate &&
      pluginOf(question.owner) !== undefined,
    prepare(isolate, number, { owner, handle, operation, depth, serialized }, milliseconds) {
      const caller = pluginOf(isolate) ?? ''
      // Each member by its name: spreading an object takes longer than all the rest.
      const message: ReceivedCall = {
        kind: 'call',
        isolate: owner,
        call: -number,
        caller,
        callerIsolate: isolate,
        handle,
        operation,
        depth,
        serialized,
      }
      const call = { caller: isolate, owner, milliseconds, begun: false }
      pending.set(number, call)
      return () => {
        if (!pending.has(number)) return
        call.begun = true
        work(message)
      }
    },
    abandon(number) {
      const call = pending.get(number)
      if (call === undefined) return false
      if (call.begun) cancel(call.owner, -number)
      else pending.delete(number)
      return true
    },
    answer({ call: negative, callerIsolate }, outcome, settled) {
      if (callerIsolate === undefined) return false
      const number = -negative
      const call = pending.get(number)
      if (call === undefined) return true
      const references = outcome.ok ? outcome.serialized.references : []
      if (settled && isGivenBack(references, call.caller)) {
        conclude(call, number, outcome)
        return true
      }
      const { owner, caller, milliseconds } = call
      const failed = ({ message }: Error): void => {
        if (pending.delete(number)) refuse(call, number, message)
      }
      handOver(owner, caller, references, milliseconds, () => conclude(call, number, outcome), failed)
      return true
    },
    ended(isolate) {
      for (const [number, call] of pending) {
        if (call.owner === isolate) {
          pending.delete(number)
          refuse(call, number, 'plugin not running', isolate)
        } else if (call.caller === isolate && call.begun) cancel(call.owner, -number)
      }
    },
  }
}

/** Whether all of it is the receiver's own: that, nobody counts. */
function isGivenBack(references: readonly Reference[], receiver: number): boolean {
  return references.every(({ owner }) => owner === receiver)
}
