import type { Duplex } from 'node:stream'
import { type Clock, type ScheduledCall, scheduleDeadline } from '../../base/time/clock.ts'
import type { ModbusRequest } from '../../schema/outside/outside.ts'
import type { LateAnswers } from './modbus-late-answers.ts'
import { ModbusDisconnect, type ModbusLink, ModbusTimeout } from './modbus-link.ts'
import { decodeBody, encodeRequest, ModbusError } from './modbus-telegram.ts'

/** Bytes of the header of Modbus TCP in front of the unit. */
const beforeUnit = 6
const checksumBytes = 2
const exceptionBit = 0x80
/** An answer of one telegram has 256 bytes at most (Modbus over serial line 1.02, section 2.5.1). */
const longestAnswer = 256

export interface RtuLinkSettings<S extends Duplex> {
  clock: Clock
  /** Opens the way there, for a question that has so much time; `signal`: nobody wants it any more. Rejects with the reason. */
  open(signal: AbortSignal, milliseconds: number): Promise<S>
  shut(stream: S): void
  /** Milliseconds of rest between two telegrams: three and a half characters. */
  rest: number
  /** What may still come on this line, also of what was asked over an earlier link. */
  late: LateAnswers
}

/**
 * Modbus RTU: telegrams with a checksum and without numbers, so that what comes late cannot be told from an answer: nothing is
 * asked that could be taken for it.
 */
export function createRtuLink<S extends Duplex>({
  clock,
  open,
  shut,
  rest,
  late,
}: RtuLinkSettings<S>): ModbusLink {
  let stream: Promise<S> | undefined
  let opening = new AbortController()
  let received: Uint8Array = new Uint8Array()
  let lastByte = Number.NEGATIVE_INFINITY
  let proven = false
  let heard: (() => void) | undefined
  let fail: ((reason: Error) => void) | undefined
  /** The question that has gone, until it is answered or given up. */
  let sentQuestion: ModbusRequest | undefined

  function drop(reason: Error): void {
    const old = stream
    stream = undefined
    proven = false
    opening.abort()
    void old?.then(shut, () => undefined)
    fail?.(reason)
  }

  function attach(opened: S, mine: () => boolean): S {
    opened.on('data', (chunk: Uint8Array) => {
      if (!mine()) return
      received = Buffer.concat([received, chunk]).subarray(-longestAnswer)
      lastByte = clock.monotonic()
      heard?.()
    })
    opened.on('error', () => undefined)
    opened.once('close', () => {
      if (mine()) drop(new ModbusDisconnect(proven))
    })
    return opened
  }

  function connect(milliseconds: number): Promise<S> {
    opening = new AbortController()
    const mine: Promise<S> = open(opening.signal, milliseconds).then((opened) =>
      attach(opened, () => stream === mine),
    )
    return mine
  }

  return {
    drop() {
      // The device knows nothing of it, and answers.
      if (sentQuestion !== undefined) late.expect(sentQuestion)
      drop(new ModbusDisconnect(false))
    },
    ask(request, milliseconds) {
      return new Promise((resolve, reject) => {
        let timer: ScheduledCall | undefined
        let pause: ScheduledCall | undefined
        let over = false
        const end = (): void => {
          over = true
          timer?.cancel()
          pause?.cancel()
          heard = undefined
          fail = undefined
          sentQuestion = undefined
        }
        fail = (reason) => {
          end()
          reject(reason)
        }

        function send(opened: S): void {
          received = new Uint8Array()
          sentQuestion = request
          heard = takeAnswer
          opened.write(rtuTelegram(request))
        }

        function takeAnswer(): void {
          const answer = answerTo(request, received)
          if (answer === undefined) return
          end()
          received = answer.rest
          late.answered(request)
          proven = true
          try {
            resolve(decodeBody(request, answer.body))
          } catch (error) {
            reject(error instanceof Error ? error : new ModbusError(String(error)))
          }
        }

        function exchange(): void {
          // What comes before the question answers another one, or is said for a second time.
          heard = undefined
          timer = scheduleDeadline(clock, milliseconds, () => {
            if (sentQuestion !== undefined) late.expect(request)
            end()
            reject(new ModbusTimeout(`timeout after ${milliseconds} ms`))
          })
          stream ??= connect(milliseconds)
          const mine = stream
          mine.then(
            (opened) => {
              if (over) return
              const wait = lastByte + rest - clock.monotonic()
              if (wait > 0) pause = clock.schedule(wait, () => send(opened))
              else send(opened)
            },
            (error: unknown) => {
              if (stream === mine) stream = undefined
              if (!over) fail?.(error instanceof Error ? error : new Error(String(error)))
            },
          )
        }

        /** Lets pass what could be taken for the answer; its own time begins then. */
        function waitForLate(): void {
          pause?.cancel()
          for (let other = late.mistakable(request); ; other = late.mistakable(request)) {
            if (other === undefined) {
              exchange()
              return
            }
            const answer = answerTo(other.request, received)
            if (answer === undefined) {
              pause = scheduleDeadline(clock, other.until - clock.monotonic(), waitForLate)
              return
            }
            received = answer.rest
            late.forget(other)
          }
        }

        heard = waitForLate
        waitForLate()
      })
    },
  }
}

/** Unit, function and data, and the checksum. */
export function rtuTelegram(request: ModbusRequest): Uint8Array {
  return withChecksum(encodeRequest(0, request).subarray(beforeUnit))
}

export function withChecksum(bytes: Uint8Array): Uint8Array {
  const checksum = crc16(bytes)
  return Buffer.concat([bytes, Buffer.from([checksum & 0xff, checksum >> 8])])
}

/** The answer among what has come, function code and data, and what is behind it; undefined while it is not whole, or not right. */
export function answerTo(
  request: ModbusRequest,
  received: Uint8Array,
): { body: Uint8Array; rest: Uint8Array } | undefined {
  // What the line has made up may stand in front of it.
  for (let from = 0; from + 5 <= received.length; from += 1) {
    const [unit, code, count = 0] = received.subarray(from)
    if (unit !== request.unit || code === undefined || (code & ~exceptionBit) !== request.fc) continue
    const length = code & exceptionBit ? 3 : 'quantity' in request ? 3 + count : 6
    const end = from + length + checksumBytes
    if (end > received.length) continue
    const telegram = received.subarray(from, from + length)
    if (Buffer.compare(withChecksum(telegram), received.subarray(from, end)) === 0)
      return { body: telegram.subarray(1), rest: received.subarray(end) }
  }
  return undefined
}

/** CRC-16 as Modbus has it: polynomial 0xA001, backwards, begun with 0xFFFF. */
function crc16(bytes: Uint8Array): number {
  let checksum = 0xffff
  for (const byte of bytes) {
    checksum ^= byte
    for (let bit = 0; bit < 8; bit += 1) checksum = checksum & 1 ? (checksum >> 1) ^ 0xa001 : checksum >> 1
  }
  return checksum
}
