import { creditLimit, creditsFor, flowCells } from '../../schema/worker/shared-cells.ts'
import { createFrameWriter, type FrameKind, type FrameWriter } from '../../schema/worker/message-frames.ts'
import type { LogLine } from '../../schema/worker/log-line.ts'
import type { WorkerMessage } from '../../schema/worker/worker-protocol.ts'
import type { Operation } from '../../schema/worker/operation.ts'
import type { Waiting } from './lua/steps.ts'
import { operationSize } from '../../schema/worker/operation-size.ts'

/** Operations in one batch that are cloned; enough to make a message cheap, few enough for the host to stay nimble. */
export const batchOperationLimit = 256
/** Bytes in one batch, roughly; one operation may be larger. */
export const batchByteLimit = 128 * 1024
/** Milliseconds that a plugin which floods waits for the host before what can be lost is lost. */
const creditDeadline = 5_000
/** Milliseconds in which what a callback does goes out together, although it was set aside meanwhile. */
const longestHold = 50
/** Milliseconds of a wait in a worker with others before looking again whether it takes too long. */
const patience = 20

/** What only tells of a moment; losing one leaves nothing wrong for ever. */
const losable: ReadonlySet<FrameKind> = new Set(['event', 'message', 'log'])

/**
 * Collects what Lua asks of the host and sends it in batches, once a turn. The host gives credit for a few
 * batches; who uses it up waits for the host, so a plugin that floods is only as fast as the host.
 */
export interface Outbox {
  send(operation: Operation): void
  /** Sends what is frequent, in order with the operations. */
  sendFrame(...frame: Parameters<FrameWriter['write']>): void
  /** Room to wait for before more is sent, by who can be set aside meanwhile; undefined while there is some. */
  pause(): Waiting | undefined
  /** Sends what is there at the end of this turn. */
  schedule(): void
  /**
   * Sends all of it now, on credit if need be: an answer or a question follows that must not overtake. Answers whether
   * the host has taken all that was ever sent.
   */
  flush(): boolean
  /** Stops for ever; what has not been sent is lost. */
  close(): void
}

export interface OutboxSettings {
  isolate: number
  flow: SharedArrayBuffer
  post(message: WorkerMessage, transfer?: ArrayBuffer[]): void
  /** Operations to add to each batch: what has changed without saying so. */
  complete(): Operation[]
  /** Whether a callback has been set aside in its midst. */
  isSuspended?: (() => boolean) | undefined
  /** Whether to wait no longer on the spot for credit: the worker is not the plugin's alone, which can be set aside. */
  isOverBudget?: (() => boolean) | undefined
  /** Milliseconds on a monotonic clock. */
  now?: () => number
}

export function createOutbox(settings: OutboxSettings): Outbox {
  const { isolate, flow, post, complete, isSuspended, isOverBudget, now = () => performance.now() } = settings
  const cells = new Int32Array(flow)
  let pending: (Operation | Uint8Array<ArrayBuffer>)[] = []
  /** Of the operations among them; frames know their own. */
  let operationBytes = 0
  const frames = createFrameWriter()
  let scheduled: NodeJS.Immediate | undefined
  let heldSince: number | undefined
  let lost = 0
  let closed = false
  /** Settle what waits for room: a task, and such as serve another plugin on top of it. */
  let awaited: (() => void)[] = []

  /** Takes the credits for all that is pending. Returns how many there are when they do not suffice. */
  function takeCredits(): { taken: number } | { taken: undefined; left: number } {
    const wanted = creditsFor(operationBytes + frames.length)
    for (;;) {
      const left = Atomics.load(cells, flowCells.credit)
      if (left < wanted) return { taken: undefined, left }
      if (Atomics.compareExchange(cells, flowCells.credit, left, left - wanted) === left)
        return { taken: wanted }
    }
  }

  /** The credits taken; undefined when there were none in time. */
  function waitForCredits(): number | undefined {
    const deadline = performance.now() + creditDeadline
    for (;;) {
      const credits = takeCredits()
      if (credits.taken !== undefined) return credits.taken
      const remaining = deadline - performance.now()
      if (remaining <= 0 || isOverBudget?.() === true) return undefined
      const wait = isOverBudget ? Math.min(remaining, patience) : remaining
      Atomics.wait(cells, flowCells.credit, credits.left, wait)
    }
  }

  function add(operation: Operation): void {
    closeFrames()
    pending.push(operation)
    operationBytes += operationSize(operation)
  }

  /** What comes now is not to overtake the frames. */
  function closeFrames(): void {
    if (frames.length === 0) return
    operationBytes += frames.length
    pending.push(frames.take())
  }

  /** Whether so many batches have room for what is pending. */
  function hasRoom(batches: number): boolean {
    const bytes = operationBytes + frames.length
    return pending.length < batches * batchOperationLimit && bytes < batches * batchByteLimit
  }

  /** Waits until what is pending has gone, and no longer than for credit on the spot. */
  function waitForRoom(): Waiting {
    let settled = false
    const settle = (): void => {
      if (settled) return
      clearTimeout(deadline)
      settled = true
      waiting.wake?.()
    }
    const deadline = setTimeout(settle, creditDeadline)
    const waiting: Waiting = {
      get settled() {
        return settled
      },
      wake: undefined,
      take: () => undefined,
      giveUp: settle,
    }
    awaited.push(settle)
    return waiting
  }

  function settleAll(): void {
    const settles = awaited
    awaited = []
    for (const settle of settles) settle()
  }

  /** Whether there is room for one more; sends a full batch, and waits for the host if it has to. */
  function makeRoom(): boolean {
    if (hasRoom(1)) return true
    const { taken } = takeCredits()
    // Who can be set aside is, right after this one; what cannot be waits here.
    if (taken === undefined && isOverBudget !== undefined && hasRoom(2)) return true
    const credits = taken ?? waitForCredits()
    if (credits !== undefined) postPending(credits)
    return credits !== undefined
  }

  function gather(): void {
    for (const operation of complete()) add(operation)
    if (lost > 0) frames.write('log', '', JSON.stringify(lossWarning(lost)))
    lost = 0
  }

  function postPending(credits: number): void {
    closeFrames()
    const operations = pending
    pending = []
    operationBytes = 0
    const transfer = operations.flatMap((each) => (each instanceof Uint8Array ? [each.buffer] : []))
    post({ kind: 'batch', isolate, operations, credits }, transfer)
    settleAll()
  }

  const isEmpty = (): boolean => pending.length === 0 && frames.length === 0

  /** Whoever hears of the first thing that a callback does finds the others done, too, if it takes no longer. */
  function isHeld(): boolean {
    if (isSuspended?.() !== true) {
      heldSince = undefined
      return false
    }
    heldSince ??= now()
    return now() - heldSince < longestHold
  }

  function flushOnCredit(): void {
    scheduled = undefined
    if (isHeld()) {
      schedule()
      return
    }
    gather()
    // Without credit it stays until the host says that there is some.
    if (isEmpty()) return
    const { taken } = takeCredits()
    if (taken !== undefined) postPending(taken)
  }

  function schedule(): void {
    if (!closed) scheduled ??= setImmediate(flushOnCredit)
  }

  return {
    send(operation) {
      if (closed) return
      makeRoom()
      add(operation)
      schedule()
    },
    sendFrame(...frame) {
      if (closed) return
      if (!makeRoom() && losable.has(frame[0])) lost += 1
      else frames.write(...frame)
      schedule()
    },
    pause: () => (isOverBudget === undefined || closed || hasRoom(1) ? undefined : waitForRoom()),
    schedule,
    flush() {
      if (closed) return false
      // What is scheduled stays so, and finds nothing: with a call after the other it would be made for each of them.
      gather()
      if (isEmpty()) return Atomics.load(cells, flowCells.credit) === creditLimit
      // What goes without credit is bounded: a batch for each answer or question.
      postPending(takeCredits().taken ?? 0)
      return false
    },
    close() {
      closed = true
      pending = []
      frames.take()
      settleAll()
      if (scheduled !== undefined) clearImmediate(scheduled)
    },
  }
}

function lossWarning(count: number): LogLine {
  return {
    at: new Date().toISOString(),
    level: 'warn',
    message: `${count} log lines, events and messages were lost: the plugin sends them faster than the host can take them`,
  }
}
