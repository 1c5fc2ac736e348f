import { messageOf } from '../../base/problem.ts'
import { createFrameReader, type FrameReader } from '../../schema/worker/message-frames.ts'
import { operationSize } from '../../schema/worker/operation-size.ts'
import { type IsolateMessage } from '../../schema/worker/worker-protocol.ts'
import { parseOperation } from '../../schema/worker/operation.ts'
import type { OperationDispatcher } from './operation-dispatcher.ts'
import type { Task } from '../flow/scheduler.ts'

type Batch = Extract<IsolateMessage, { kind: 'batch' }>

export interface BatchTaskSettings {
  batch: Batch
  dispatcher: Pick<OperationDispatcher, 'serve' | 'serveFrames'>
  /** Whether nobody wants it done any more. */
  over(): boolean
  /** Something in it is not in the protocol. */
  nonsense(errors: unknown): void
  /** All of it has been done: so many operations and frames of so many bytes. */
  taken(batch: { operations: number; bytes: number; credits: number }): void
}

/** Does what a batch asks for: one operation, or a few frames, at each step. */
export function createBatchTask({ batch, dispatcher, over, nonsense, taken }: BatchTaskSettings): Task {
  const { operations, credits } = batch
  let next = 0
  let count = 0
  let bytes = 0
  let frames: FrameReader | undefined

  function takeOperation(value: unknown): void {
    const parsed = parseOperation(value)
    count += 1
    if (!parsed.ok) {
      nonsense(parsed.errors)
      return
    }
    bytes += operationSize(parsed.value)
    dispatcher.serve(parsed.value)
  }

  function take(): void {
    const value = operations[next]
    // What its worker could still change while it is read is no frame.
    if (value instanceof Uint8Array && value.buffer instanceof ArrayBuffer) {
      if (frames === undefined) bytes += value.length
      frames ??= createFrameReader(value)
      count += dispatcher.serveFrames(frames)
      if (frames.left > 0) return
      frames = undefined
    } else takeOperation(value)
    next += 1
  }

  return () => {
    try {
      take()
    } catch (error) {
      // Where the next frame begins is not known.
      nonsense([messageOf(error)])
      frames = undefined
      next += 1
    }
    if (over()) return true
    if (next < operations.length) return false
    taken({ operations: count, bytes, credits })
    return true
  }
}
