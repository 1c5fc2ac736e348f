import { lazily } from '../../../base/lazily.ts'
import type { Steps } from '../lua/steps.ts'
import { eachPiece } from './format-function.ts'

/** CRC-16 of Modbus (reflected 0x8005, from 0xFFFF) and CRC-32 of ISO 3309 (reflected 0x04C11DB7). */
const modbusPolynomial = 0xa001
const isoPolynomial = 0xedb88320

function tableOf(polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte
    for (let bit = 0; bit < 8; bit += 1) rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ polynomial
    return rest >>> 0
  })
}

/** Few plugins use them, and every worker would wait for them. */
const tables = {
  modbus: lazily(() => tableOf(modbusPolynomial)),
  iso: lazily(() => tableOf(isoPolynomial)),
}

function* remainder(table: Uint32Array, initial: number, bytes: Uint8Array): Steps<number> {
  let rest = initial
  yield* eachPiece(bytes, (piece) => {
    for (const byte of piece) rest = (rest >>> 8) ^ (table[(rest ^ byte) & 0xff] ?? 0)
  })
  return rest
}

export const crc16 = (bytes: Uint8Array): Steps<number> => remainder(tables.modbus(), 0xffff, bytes)

export function* crc32(bytes: Uint8Array): Steps<number> {
  return ~(yield* remainder(tables.iso(), -1, bytes)) >>> 0
}
