import { creditsFor, flowCells } from '../../schema/flow-cells.ts'
import type { Operation, WorkerMessage } from '../../schema/worker-protocol.ts'
import { operationSize } from '../../schema/operation-size.ts'

/** Operations in one batch; enough to make a message cheap, few enough for the host to stay nimble. */
export const batchOperationLimit = 256
/** Bytes in one batch, roughly; one operation may be larger. */
export const batchByteLimit = 128 * 1024
/** Milliseconds that a plugin which floods waits for the host before what can be lost is lost. */
export const creditDeadline = 5_000
/** Milliseconds of a wait in a worker with others before looking again whether it takes too long. */
const patience = 20

/** What only tells of a moment; losing one leaves nothing wrong for ever. */
const losable: ReadonlySet<Operation['kind']> = new Set(['log', 'emit', 'publish'])

/**
 * Collects what Lua asks of the host and sends it in batches, once a turn. The host gives credit for a few
 * batches; who uses it up waits for the host, so a plugin that floods is only as fast as the host.
 */
export interface Outbox {
  send(operation: Operation): void
  /** Sends what is there at the end of this turn. */
  schedule(): void
  /** Sends all of it now, on credit if need be: an answer or a question follows that must not overtake. */
  flush(): void
  /** Stops for ever; what has not been sent is lost. */
  close(): void
}

export interface OutboxSettings {
  isolate: number
  flow: SharedArrayBuffer
  post(message: WorkerMessage): void
  /** Operations to add to each batch: what has changed without saying so. */
  complete(): Operation[]
  /** Whether to wait no longer for credit: the worker is not the plugin's alone. */
  impatient?: (() => boolean) | undefined
}

export function createOutbox({ isolate, flow, post, complete, impatient }: OutboxSettings): Outbox {
  const cells = new Int32Array(flow)
  let pending: Operation[] = []
  let pendingBytes = 0
  let scheduled: NodeJS.Immediate | undefined
  let lost = 0
  let closed = false

  /** Takes the credits for all that is pending. Returns how many there are when they do not suffice. */
  function takeCredits(): { taken: number } | { taken: undefined; left: number } {
    const wanted = creditsFor(pendingBytes)
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
      if (remaining <= 0 || impatient?.() === true) return undefined
      const wait = impatient ? Math.min(remaining, patience) : remaining
      Atomics.wait(cells, flowCells.credit, credits.left, wait)
    }
  }

  function gather(): void {
    pending.push(...complete())
    if (lost > 0) pending.push(lossWarning(lost))
    lost = 0
  }

  function postPending(credits: number): void {
    const operations = pending
    pending = []
    pendingBytes = 0
    post({ kind: 'batch', isolate, operations, credits })
  }

  function flushOnCredit(): void {
    scheduled = undefined
    gather()
    // Without credit it stays until the host says that there is some.
    if (pending.length === 0) return
    const { taken } = takeCredits()
    if (taken !== undefined) postPending(taken)
  }

  function schedule(): void {
    if (!closed) scheduled ??= setImmediate(flushOnCredit)
  }

  return {
    send(operation) {
      if (closed) return
      if (pending.length >= batchOperationLimit || pendingBytes >= batchByteLimit) {
        const credits = waitForCredits()
        if (credits !== undefined) postPending(credits)
        else if (losable.has(operation.kind)) {
          lost += 1
          return
        }
      }
      pending.push(operation)
      pendingBytes += operationSize(operation)
      schedule()
    },
    schedule,
    flush() {
      if (closed) return
      gather()
      if (pending.length === 0) return
      // What goes without credit is bounded: a batch for each answer or question.
      postPending(takeCredits().taken ?? 0)
    },
    close() {
      closed = true
      pending = []
      if (scheduled !== undefined) clearImmediate(scheduled)
    },
  }
}

function lossWarning(count: number): Operation {
  return {
    kind: 'log',
    entry: {
      at: new Date().toISOString(),
      level: 'warn',
      message: `${count} log lines, events and messages were lost: the plugin sends them faster than the host can take them`,
    },
  }
}
