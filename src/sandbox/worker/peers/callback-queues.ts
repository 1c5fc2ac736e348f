import type { SerializedValues } from '../../../schema/worker/plugin-call.ts'
import type { LuaValue } from '../lua/lua-value.ts'

/** Bytes of calls that wait for one plugin, as many as of deliveries that wait for this one. */
const waitingBytesLimit = 4 * 1024 * 1024
/** Bytes that a call takes besides its arguments, roughly. */
const callOverhead = 128

/** A call of a function of another plugin that nobody here waits for. */
export interface LaterCall {
  /** Number of the isolate that the function belongs to. */
  owner: number
  serialized: SerializedValues
  /** What the values refer to: it has to be there until they have gone. */
  kept: readonly LuaValue[]
  /** Sends it; `settled` is called once, later. Answers how to take that back. */
  send(settled: () => void): () => void
  /** It will not be sent after all. */
  discard(): void
}

/**
 * Calls of other plugins' functions, a queue for each plugin: one call is under way in each, so they come in order, and
 * whoever is slow holds up nobody but itself.
 */
export interface CallbackQueues {
  /** False when too much waits in its queue; then it is discarded. */
  add(call: LaterCall): boolean
  /** The plugin has ended. */
  end(owner: number): void
  close(): void
}

interface Queue {
  waiting: LaterCall[]
  bytes: number
  takeBack: (() => void) | undefined
}

export function createCallbackQueues(): CallbackQueues {
  const queues = new Map<number, Queue>()
  const costOf = ({ serialized }: LaterCall): number => callOverhead + serialized.body.byteLength

  function advance(owner: number, queue: Queue): void {
    const next = queue.waiting.shift()
    if (next === undefined) {
      queues.delete(owner)
      return
    }
    queue.bytes -= costOf(next)
    queue.takeBack = next.send(() => {
      if (queues.get(owner) === queue) advance(owner, queue)
    })
  }

  function end(owner: number): void {
    const queue = queues.get(owner)
    queues.delete(owner)
    queue?.takeBack?.()
    for (const call of queue?.waiting ?? []) call.discard()
  }

  return {
    end,
    add(call) {
      const queue = queues.get(call.owner)
      if (queue === undefined) {
        const begun: Queue = { waiting: [call], bytes: costOf(call), takeBack: undefined }
        queues.set(call.owner, begun)
        advance(call.owner, begun)
        return true
      }
      // One waits always: a single large one has to come through.
      if (queue.waiting.length > 0 && queue.bytes + costOf(call) > waitingBytesLimit) {
        call.discard()
        return false
      }
      queue.waiting.push(call)
      queue.bytes += costOf(call)
      return true
    },
    close() {
      for (const owner of [...queues.keys()]) end(owner)
    },
  }
}
