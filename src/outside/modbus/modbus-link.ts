import type { Socket } from 'node:net'
import { type Clock, scheduleDeadline } from '../../base/time/clock.ts'
import type { ModbusRequest } from '../../schema/outside/outside.ts'
import { addressTimeoutWithin, type OwnListeners } from '../own-listeners.ts'
import { decodeBody, encodeRequest, ModbusError, splitTelegram } from './modbus-telegram.ts'

/** Telegrams that answer nothing between one question and the next: who sends more does so without end. */
const strayLimit = 1_000

/** No answer came in time; a late one is ignored. */
export class ModbusTimeout extends Error {
  override readonly name = 'ModbusTimeout'
}

/** The connection ended before the answer. */
export class ModbusDisconnect extends Error {
  override readonly name = 'ModbusDisconnect'
  /** Whether it had answered before: then it was probably just old. */
  readonly proven: boolean

  constructor(proven: boolean) {
    super('the connection was closed before the answer came')
    this.proven = proven
  }
}

/** A connection to one gateway, opened when it is needed. */
export interface ModbusLink {
  /**
   * Asks, and waits for the answer: one at a time. Rejects with `ModbusTimeout`, `ModbusDisconnect`,
   * `ModbusError`, or the system's error when there is no connection.
   */
  ask(request: ModbusRequest, milliseconds: number): Promise<number[]>
  /** Ends the connection; the next question opens another. */
  drop(): void
}

export interface ModbusLinkSettings {
  host: string
  port: number
  clock: Clock
  own: OwnListeners
}

export function createModbusLink({ host, port, clock, own }: ModbusLinkSettings): ModbusLink {
  let socket: Socket | undefined
  let received: Uint8Array = new Uint8Array()
  let proven = false
  let lastTransaction = 0
  /** Telegrams that have come meanwhile and are no answer to the last question. */
  let strays = 0
  let take: ((body: Uint8Array) => void) | undefined
  let fail: ((reason: Error) => void) | undefined

  /** Ends the connection, and the question on it. */
  function drop(reason: Error): void {
    socket?.destroy()
    socket = undefined
    received = new Uint8Array()
    proven = false
    fail?.(reason)
  }

  function open(milliseconds: number): Socket {
    const opened = own.connect({
      host,
      port,
      autoSelectFamilyAttemptTimeout: addressTimeoutWithin(milliseconds),
    })
    let connected = false
    opened.on('connect', () => {
      connected = true
    })
    opened.on('data', receive)
    // How a connection ends that was dropped is of no interest.
    opened.on('error', (error) => {
      if (socket === opened) drop(connected ? new ModbusDisconnect(proven) : error)
    })
    opened.on('close', () => {
      if (socket === opened) drop(new ModbusDisconnect(proven))
    })
    return opened
  }

  function receive(chunk: Uint8Array): void {
    received = Buffer.concat([received, chunk])
    try {
      for (let split = splitTelegram(received); split !== undefined; split = splitTelegram(received)) {
        received = split.rest
        // An answer that comes after its time has another number.
        if (split.telegram.transaction === lastTransaction) take?.(split.telegram.body)
        else strays += 1
        if (strays > strayLimit)
          throw new ModbusError(
            `what answers has sent more than ${strayLimit} telegrams that nobody asked for`,
          )
      }
    } catch (error) {
      drop(asError(error))
    }
  }

  return {
    drop: () => drop(new ModbusDisconnect(false)),
    ask(request, milliseconds) {
      return new Promise((resolve, reject) => {
        lastTransaction = (lastTransaction % 0xffff) + 1
        strays = 0
        const end = (): void => {
          timer.cancel()
          take = undefined
          fail = undefined
        }
        const timer = scheduleDeadline(clock, milliseconds, () => {
          end()
          // What is still trying to connect would send this question much later.
          if (socket?.connecting === true) drop(new ModbusDisconnect(false))
          const why = strays > 0 ? ': what was answered has the number of another question' : ''
          reject(new ModbusTimeout(`timeout after ${milliseconds} ms${why}`))
        })
        take = (body) => {
          end()
          proven = true
          try {
            resolve(decodeBody(request, body))
          } catch (error) {
            reject(asError(error))
          }
        }
        fail = (reason) => {
          end()
          reject(reason)
        }
        socket ??= open(milliseconds)
        socket.write(encodeRequest(lastTransaction, request))
      })
    },
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new ModbusError(String(error))
}
