import { createServer, type Socket } from 'node:net'
import { listen } from '../../helpers/listen.ts'

/** A telegram as the server saw it. */
export interface SeenTelegram {
  unit: number
  /** Function code and data, in hexadecimal. */
  body: string
  /** Number of the connection, from 1. */
  connection: number
}

/** Function code and data of the answer; undefined for none. */
export type Answer = (seen: SeenTelegram, body: Buffer, socket: Socket) => Buffer | undefined

export interface ModbusServer {
  readonly port: number
  readonly seen: SeenTelegram[]
  readonly connections: Socket[]
  /** Resolves when so many telegrams have come. */
  until(count: number): Promise<void>
  close(): Promise<void>
}

/** A Modbus TCP server on a free port whose answers the test writes. */
export async function startModbusServer(answer: Answer): Promise<ModbusServer> {
  const seen: SeenTelegram[] = []
  const connections: Socket[] = []
  const watchers = new Set<() => void>()
  const server = createServer((socket) => {
    const connection = connections.push(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 7 && received.length >= 6 + received.readUInt16BE(4)) {
        const end = 6 + received.readUInt16BE(4)
        const header = received.subarray(0, 7)
        const body = received.subarray(7, end)
        received = received.subarray(end)
        const one = { unit: header.readUInt8(6), body: body.toString('hex'), connection }
        seen.push(one)
        const reply = answer(one, body, socket)
        if (reply !== undefined) socket.write(framed(header.readUInt16BE(0), one.unit, reply))
        for (const watcher of [...watchers]) watcher()
      }
    })
  })
  const port = await listen(server)
  return {
    port,
    seen,
    connections,
    until: (count) =>
      new Promise((resolve) => {
        const watcher = (): void => {
          if (seen.length < count) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        watcher()
      }),
    async close() {
      for (const socket of connections) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A whole telegram. */
export function framed(transaction: number, unit: number, body: Buffer): Buffer {
  const header = Buffer.alloc(7)
  header.writeUInt16BE(transaction, 0)
  header.writeUInt16BE(body.length + 1, 4)
  header.writeUInt8(unit, 6)
  return Buffer.concat([header, body])
}

/** An answer to a read of registers. */
export function registersAnswer(fc: number, values: readonly number[]): Buffer {
  return Buffer.from([fc, values.length * 2, ...values.flatMap((value) => [value >> 8, value & 0xff])])
}

/** Registers that count up from the address that was asked for: register 100 holds 100. */
export const countingRegisters: Answer = (_seen, body) => {
  const [fc = 0] = body
  const [address, quantity] = [body.readUInt16BE(1), body.readUInt16BE(3)]
  if (fc !== 3 && fc !== 4) return body
  return registersAnswer(
    fc,
    Array.from({ length: quantity }, (_, index) => address + index),
  )
}
