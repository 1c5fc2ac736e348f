import { textLimits } from '../parsing/text-limits.ts'

export const httpMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
export type HttpMethod = (typeof httpMethods)[number]

/** Headers of one request; more than any server takes. */
export const headerLimit = 200

/** Whether the headers are not larger together than a server takes. */
export function isSendableBlock(headers: readonly (readonly [string, string])[]): boolean {
  let size = 0
  for (const [name, value] of headers) size += name.length + value.length
  return size <= textLimits.headerBlock
}

/** Bytes of a body that a plugin gets: when it says nothing of it, and at most. A plugin reads states, not films. */
export const bodyLimits = { default: 5 * 1024 * 1024, most: 16 * 1024 * 1024 } as const

/** Milliseconds for one attempt of a Modbus request, at most: a gateway does one at a time. */
export const modbusTimeoutLimit = 60_000

/** What one telegram may carry (Modbus application protocol 1.1b3, section 6). */
export const modbusLimits = {
  readBits: 2_000,
  readRegisters: 125,
  writeBits: 1_968,
  writeRegisters: 123,
} as const
