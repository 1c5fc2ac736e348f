import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type Clock, createTimeLeft, type ScheduledCall, scheduleDeadline } from '../../../base/time/clock.ts'
import type { PluginCallOutcome, Reference } from '../../../schema/worker/plugin-call.ts'
import { callDepthLimit } from '../../../schema/worker/plugin-call-limits.ts'
import { readFromHost } from '../../../schema/worker/call-frames.ts'
import type { UrgentMessage, WorkerMessage, WorkerSetup } from '../../../schema/worker/worker-protocol.ts'
import type { Answers, Question, QuestionKind, QuestionOf } from '../../../schema/worker/question.ts'
import { createLinkedCalls } from '../calls/linked-calls.ts'
import { createLocalCalls, type ReceivedCall } from '../calls/local-calls.ts'
import type { Waiting } from '../lua/steps.ts'
import { createPendingQuestions, NoAnswer, refusalOf } from './pending-questions.ts'
import { createWaitingSignal } from './waiting-signal.ts'

type Received = Parameters<typeof readFromHost>[0]
/** What another plugin wants of this one, or what has become of what is between them. */
export type PeerMessage = ReceivedCall | Extract<UrgentMessage, { kind: 'drop' | 'peerEnded' }>

/** Who asks, and for how long it waits. */
export interface Asker {
  isolate: number
  milliseconds: number
  /** The host has taken all that the plugin has sent. */
  settled: boolean
}

/** A question that is under way. */
export interface Asked {
  /** Has it done, if it is not the host that does it. To be called when little or nothing of the asker's is on the stack. */
  start?: () => void
  /** Nobody hears what comes of it. */
  takeBack(): void
}

/**
 * Asks the host and waits. Answers come on a port of their own, because the messages on the main port have
 * to stay in line until Lua has finished. Calls of other plugins come on it too and are served while this one
 * waits, so plugins that call each other do not lock; and when nobody waits, between two turns.
 */
export interface QuestionChannel {
  /**
   * Asks and goes on; one of the two hears what came of it, once, the moment that it comes, also while this worker waits for
   * something else. What failed is the host's refusal, `NoAnswer` after so many milliseconds, or `PeerGone` when the plugin
   * has ended.
   */
  begin<K extends QuestionKind>(
    asker: Asker,
    question: QuestionOf<K>,
    accept: (answer: Answers[K]) => void,
    failed: (error: Error) => void,
  ): Asked
  /**
   * Blocks the worker's thread until it is settled, with all that is on the stack. Throws `NoAnswer`, and gives it up, after so many milliseconds
   * or when `isOverBudget` says so.
   */
  waitBlocking(asked: Waiting, milliseconds: number, isOverBudget: (() => boolean) | undefined): void
  /** Answers a call of another plugin. `settled`: the host has taken all that the callee has sent. */
  answerCall(call: ReceivedCall, outcome: PluginCallOutcome, settled: boolean): void
  /** Answers one that is not made. */
  refuseCall(call: ReceivedCall, reason: string): void
  /** The isolate has ended. */
  ended(isolate: number): void
}

export interface QuestionChannelSettings {
  setup: WorkerSetup
  clock: Clock
  post(message: WorkerMessage): void
  /** Does what another plugin wants. Never throws. */
  serve(message: PeerMessage): void
  /** Leaves out a call that was handed over, if it has not begun. */
  cancel(isolate: number, call: number): void
  /** Full id of the plugin in this isolate of this worker; undefined: there is none. */
  pluginOf(isolate: number): string | undefined
  /** Has others in this worker go on, while one of them waits; false when there is nothing to do. */
  runOthers(): boolean
  /** These were received with something that nobody waits for any more. */
  refuse(isolate: number, references: readonly Reference[]): void
}

/** Milliseconds of a wait in a worker with others before looking again whether it takes too long. */
const patience = 20

export function createQuestionChannel(settings: QuestionChannelSettings): QuestionChannel {
  const { setup, clock, post, serve, runOthers, refuse } = settings
  const port: MessagePort = setup.urgent
  const signal = createWaitingSignal(setup.signal)
  const { waiting, answered, abandon } = createPendingQuestions({
    refuse,
    giveUp(isolate, number) {
      if (!local.abandon(number) && !linked.abandon(number)) post({ kind: 'abandon', isolate, number })
    },
  })
  /** What has come and is still to be done, in order. */
  let queue: PeerMessage[] = []
  /** Calls that are being served on the stack, one within the other. */
  let serving = 0
  let scheduled: NodeJS.Immediate | undefined
  let lastNumber = 0
  const local = createLocalCalls({
    pluginOf: settings.pluginOf,
    work,
    cancel,
    answered,
    handOver(isolate, to, references, milliseconds, done, failed) {
      const question = { kind: 'handOver' as const, to, references: [...references] }
      begin({ isolate, milliseconds, settled: false }, question, done, failed)
    },
  })

  const linked = createLinkedCalls({
    ...{ post, cancel, answered, refuse },
    nextNumber: () => (lastNumber += 1),
    receive: (call) => void queue.push(call),
    received: workOff,
  })

  function take(message: UrgentMessage): void {
    switch (message.kind) {
      case 'answer':
        answered(message)
        break
      case 'cancelCall':
        cancel(message.isolate, message.call)
        break
      case 'link':
      case 'unlink':
      case 'linkedAnswer':
        linked.notice(message)
        break
      default:
        queue.push(message)
    }
  }

  function cancel(isolate: number, call: number): void {
    const cancelled = queue.find((message) => message.kind === 'call' && message.call === call)
    if (cancelled?.kind !== 'call') {
      settings.cancel(isolate, call)
      return
    }
    queue = queue.filter((message) => message !== cancelled)
    refuseCall(cancelled, 'cancelled')
  }

  /** Takes all that has come, so that a call that was cancelled meanwhile is not begun. */
  function drain(): void {
    for (;;) {
      const received: { message: Received } | undefined = receiveMessageOnPort(port)
      if (received === undefined) break
      take(readFromHost(received.message))
    }
    linked.drain()
  }

  function work(message: PeerMessage): void {
    if (message.kind !== 'call') {
      serve(message)
      return
    }
    if (serving >= callDepthLimit) {
      refuseCall(message, `more than ${callDepthLimit} calls wait for each other`)
      return
    }
    serving += 1
    try {
      serve(message)
    } finally {
      serving -= 1
    }
  }

  function refuseCall(call: ReceivedCall, message: string): void {
    refuse(call.isolate, call.serialized.references)
    // It has sent nothing for the sake of this call.
    answerCall(call, { ok: false, message }, true)
  }

  function answerCall(call: ReceivedCall, outcome: PluginCallOutcome, settled: boolean): void {
    if (linked.answer(call, outcome, settled) || local.answer(call, outcome, settled)) return
    post({ kind: 'callAnswered', isolate: call.isolate, call: call.call, outcome })
  }

  /** Sends a question on its way; answers how to begin with it, where the host does not. */
  function send(
    { isolate, milliseconds, settled }: Asker,
    number: number,
    question: Question,
  ): (() => void) | undefined {
    if (settled && local.takes(isolate, question))
      return local.prepare(isolate, number, question, milliseconds)
    if (!settled || !linked.send(isolate, number, question))
      post({ kind: 'question', isolate, number, question })
    return undefined
  }

  function workOff(): void {
    scheduled = undefined
    drain()
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) work(next)
  }

  /** Sees to it that what has come is done: nobody else will say that it is there. */
  function workOffSoon(): void {
    if (queue.length > 0) scheduled ??= setImmediate(workOff)
  }

  const waitBlocking: QuestionChannel['waitBlocking'] = (asked, milliseconds, isOverBudget) => {
    const timeLeft = createTimeLeft(clock, milliseconds)
    try {
      for (;;) {
        const seen = signal.seen()
        drain()
        if (asked.settled) return
        const remaining = timeLeft()
        if (remaining <= 0 || isOverBudget?.() === true) {
          asked.giveUp()
          throw new NoAnswer(milliseconds, remaining > 0)
        }
        const next = queue.shift()
        signal.live()
        if (next !== undefined) work(next)
        else if (!runOthers()) signal.sleep(seen, isOverBudget ? Math.min(remaining, patience) : remaining)
      }
    } finally {
      workOffSoon()
    }
  }

  port.on('message', (message: Received) => {
    take(readFromHost(message))
    workOff()
  })

  const begin: QuestionChannel['begin'] = (asker, question, accept, failed) => {
    const { isolate, milliseconds } = asker
    lastNumber += 1
    const number = lastNumber
    let deadline: ScheduledCall | undefined
    const late = (): void => {
      // It may have come while this worker was busy.
      drain()
      workOffSoon()
      if (!waiting.has(number)) return
      abandon(isolate, number, question.kind)
      failed(new NoAnswer(milliseconds, false))
    }
    waiting.set(number, (answer) => {
      deadline?.cancel()
      if (answer.ok) accept(answer.value as Parameters<typeof accept>[0])
      else failed(refusalOf(answer))
    })
    const takeBack = (): void => {
      deadline?.cancel()
      if (waiting.has(number)) abandon(isolate, number, question.kind)
    }
    const work = send(asker, number, question)
    if (work === undefined) {
      deadline = scheduleDeadline(clock, milliseconds, late)
      return { takeBack }
    }
    const start = (): void => {
      work()
      // Most are answered by now.
      if (waiting.has(number)) deadline = scheduleDeadline(clock, milliseconds, late)
    }
    return { start, takeBack }
  }

  return {
    begin,
    waitBlocking,
    answerCall,
    refuseCall,
    ended(isolate) {
      local.ended(isolate)
      linked.ended(isolate)
    },
  }
}
