import { MessageChannel } from 'node:worker_threads'
import { lazily } from '../lazily.ts'

/** Bytes from which it pays. */
const worthwhile = 64 * 1024

/**
 * What is sent here goes nowhere: it is taken from the sender all the same, and then nobody has it. The first ones are
 * held until the other end is closed, with the next turn of the event loop.
 */
const nowhere = lazily(() => {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  return port1
})

/**
 * Gives memory back at once that nobody will read again. A garbage collector looks for it only later: 64 MB of such
 * buffers make V8 go through the whole heap, on all processors. The array is empty afterwards, and so is every other
 * view of its buffer. Does nothing with a small one, or one that is shared with other threads.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= worthwhile)
    nowhere().postMessage(undefined, [buffer])
}
