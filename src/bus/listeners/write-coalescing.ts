import type { Duplex } from 'node:stream'

/** Bytes that are gathered before they are written within the same turn of the event loop. */
const gatheredLimit = 64 * 1024

/**
 * Gathers all that the broker writes to a connection within a turn of the event loop, and writes it at once. A packet
 * is written in five parts, and the broker sends each message in a callback of its own: without this each of them
 * costs a system call, which is half of the price of a small message.
 *
 * `write` answers as before whether there is room for more, and `drain` follows when it has answered that there is none.
 */
export function coalesceWrites(connection: Duplex): void {
  const write = connection.write.bind(connection)
  const end = connection.end.bind(connection)
  let gathered: Buffer[] = []
  let bytes = 0
  let scheduled: NodeJS.Immediate | undefined

  function flush(): void {
    if (scheduled !== undefined) clearImmediate(scheduled)
    scheduled = undefined
    const [first, ...others] = gathered
    const length = bytes
    const parts = gathered
    gathered = []
    bytes = 0
    if (first === undefined || connection.destroyed || connection.writableEnded) return
    write(others.length === 0 ? first : Buffer.concat(parts, length))
  }

  function gather(chunk: Buffer | Uint8Array | string): boolean {
    const part =
      typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    gathered.push(part)
    bytes += part.length
    if (bytes >= gatheredLimit) flush()
    else scheduled ??= setImmediate(flush)
    return !connection.writableNeedDrain
  }

  Object.assign(connection, {
    write: (chunk: Buffer | string, ...rest: unknown[]): boolean => {
      // Nobody who wants to know when it has been written is kept waiting.
      if (typeof rest.at(-1) !== 'function') return gather(chunk)
      flush()
      return Reflect.apply(write, connection, [chunk, ...rest]) as boolean
    },
    end: (...last: unknown[]): unknown => {
      flush()
      return Reflect.apply(end, connection, last)
    },
    // What writes packets would cork and uncork the stream for each of them.
    cork: undefined,
  })
  connection.once('close', () => {
    if (scheduled !== undefined) clearImmediate(scheduled)
    gathered = []
  })
}
