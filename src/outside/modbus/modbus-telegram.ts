import type { ModbusRequest } from '../../schema/outside/outside.ts'

/** Requests and answers of Modbus TCP as bytes (Modbus application protocol 1.1b3, messaging guide 1.0b). */

/** Bytes in front of the function code: transaction, protocol, length, unit. */
const headerLength = 7
/** The length counts the unit; with it a telegram has at most 253 bytes of function code and data. */
const longestLength = 254
const exceptionBit = 0x80
const coilOn = 0xff00

/** The names of the specification, in small letters. */
const exceptions: Readonly<Record<number, string>> = {
  1: 'illegal function',
  2: 'illegal data address',
  3: 'illegal data value',
  4: 'server device failure',
  5: 'acknowledge',
  6: 'server device busy',
  7: 'negative acknowledge',
  8: 'memory parity error',
  10: 'gateway path unavailable',
  11: 'gateway target device failed to respond',
}

/** What a device refused, or an answer that makes no sense. */
export class ModbusError extends Error {
  override readonly name = 'ModbusError'
}

export function encodeRequest(transaction: number, request: ModbusRequest): Uint8Array {
  const body = encodeBody(request)
  const header = Buffer.alloc(headerLength)
  header.writeUInt16BE(transaction, 0)
  header.writeUInt16BE(body.byteLength + 1, 4)
  header.writeUInt8(request.unit, 6)
  return Buffer.concat([header, body])
}

function encodeBody(request: ModbusRequest): Uint8Array {
  const { fc, address } = request
  switch (fc) {
    case 1:
    case 2:
    case 3:
    case 4:
      return Buffer.from([fc, ...words([address, request.quantity])])
    case 5:
      return Buffer.from([fc, ...words([address, request.values[0] === 0 ? 0 : coilOn])])
    case 6:
      return Buffer.from([fc, ...words([address, request.values[0] ?? 0])])
    case 15: {
      const bits = packBits(request.values)
      return Buffer.from([fc, ...words([address, request.values.length]), bits.length, ...bits])
    }
    case 16: {
      const data = words(request.values)
      return Buffer.from([fc, ...words([address, request.values.length]), data.length, ...data])
    }
  }
}

export interface Telegram {
  transaction: number
  unit: number
  /** Function code and data. */
  body: Uint8Array
}

/** The first telegram of what has come so far, and the rest; undefined while it is not whole. Throws `ModbusError`. */
export function splitTelegram(received: Uint8Array): { telegram: Telegram; rest: Uint8Array } | undefined {
  if (received.byteLength < headerLength) return undefined
  const bytes = Buffer.from(received.buffer, received.byteOffset, received.byteLength)
  const length = bytes.readUInt16BE(4)
  if (bytes.readUInt16BE(2) !== 0 || length < 2 || length > longestLength) {
    throw new ModbusError('what answers does not speak Modbus TCP')
  }
  const end = headerLength - 1 + length
  if (bytes.byteLength < end) return undefined
  return {
    telegram: {
      transaction: bytes.readUInt16BE(0),
      unit: bytes.readUInt8(6),
      body: bytes.subarray(headerLength, end),
    },
    rest: bytes.subarray(end),
  }
}

/** What was read, or what was written. Throws `ModbusError` for an exception, and for nonsense. */
export function decodeBody(request: ModbusRequest, body: Uint8Array): number[] {
  const [fc = 0, second = 0] = body
  if (fc === (request.fc | exceptionBit)) {
    throw new ModbusError(`modbus exception ${second}: ${exceptions[second] ?? 'unknown'}`)
  }
  if (fc !== request.fc) throw new ModbusError('the answer is to another function than was asked for')
  if (!('quantity' in request)) {
    requireEcho(request, body)
    return request.values
  }
  const bits = request.fc === 1 || request.fc === 2
  const expected = bits ? Math.ceil(request.quantity / 8) : request.quantity * 2
  const data = body.subarray(2)
  if (second !== expected || data.byteLength < expected) {
    throw new ModbusError('the answer has another length than was asked for')
  }
  return Array.from({ length: request.quantity }, (_, index) =>
    bits
      ? ((data[index >> 3] ?? 0) >> (index & 7)) & 1
      : (data[2 * index] ?? 0) * 256 + (data[2 * index + 1] ?? 0),
  )
}

/** A write is answered with its address, and with its value or the count of them. Throws `ModbusError`. */
function requireEcho(request: ModbusRequest, body: Uint8Array): void {
  const [asked, answered] = [encodeBody(request), body].map((bytes) => Buffer.from(bytes.subarray(1, 5)))
  if (asked === undefined || answered === undefined || answered.equals(asked)) return
  if (answered.byteLength < asked.byteLength)
    throw new ModbusError('the answer is shorter than that to a write')
  const what = request.fc === 5 || request.fc === 6 ? 'value' : 'count'
  const tell = (echo: Buffer): string => `address ${echo.readUInt16BE(0)}, ${what} ${echo.readUInt16BE(2)}`
  throw new ModbusError(`the device answers that it wrote ${tell(answered)}, and not ${tell(asked)}`)
}

function words(values: readonly number[]): number[] {
  return values.flatMap((value) => [value >> 8, value & 0xff])
}

/** Eight coils a byte, the first one in the lowest bit. */
function packBits(values: readonly number[]): number[] {
  const bytes = new Array<number>(Math.ceil(values.length / 8)).fill(0)
  for (const [index, value] of values.entries()) {
    if (value !== 0) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7))
  }
  return bytes
}
