import { connect, type Socket } from 'node:net'

/** Asks for a page again and again on connections that stay, and reads no more of the answer than its length. */
export interface KeepAliveClient {
  /** Answers a second, over so many of them. */
  rate(count: number): Promise<number>
  close(): void
}

const headEnd = Buffer.from('\r\n\r\n')

/** Calls `answered` for each answer with status 200; any other is an error of the socket. */
function readAnswers(socket: Socket, answered: () => void): void {
  let head = Buffer.alloc(0)
  /** Bytes of the body that are still to come. */
  let left = 0
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk
    while (rest.length > 0) {
      if (left === 0) {
        head = Buffer.concat([head, rest])
        const end = head.indexOf(headEnd)
        if (end < 0) return
        const text = head.toString('latin1', 0, end)
        const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
        if (!text.startsWith('HTTP/1.1 200') || length === undefined) {
          socket.destroy(new Error(`unexpected answer: ${text}`))
          return
        }
        left = Number(length)
        rest = head.subarray(end + headEnd.length)
        head = Buffer.alloc(0)
      }
      const taken = Math.min(left, rest.length)
      left -= taken
      rest = rest.subarray(taken)
      if (left === 0) answered()
    }
  })
}

export function createKeepAliveClient(address: URL, connections: number): KeepAliveClient {
  const request = `GET ${address.pathname} HTTP/1.1\r\nhost: ${address.host}\r\nconnection: keep-alive\r\n\r\n`
  const sockets = Array.from({ length: connections }, () =>
    connect({ host: address.hostname, port: Number(address.port), noDelay: true }),
  )
  return {
    rate: (count) =>
      new Promise((resolve, reject) => {
        let asked = 0
        let answered = 0
        const begun = performance.now()
        for (const socket of sockets) {
          const ask = (): void => {
            if (asked >= count) return
            asked += 1
            socket.write(request)
          }
          socket.removeAllListeners()
          socket.on('error', reject)
          readAnswers(socket, () => {
            answered += 1
            if (answered === count) resolve(count / ((performance.now() - begun) / 1000))
            else ask()
          })
          ask()
        }
      }),
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
