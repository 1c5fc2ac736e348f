import Type, { type Static } from 'typebox'
import { Text, textLimits } from './text.ts'

/** What plugins ask of machines elsewhere, and what comes back; a worker has no network of its own. */

const Bytes = Type.Refine(Type.Unsafe<Uint8Array>({}), (value) => value instanceof Uint8Array)

export const httpMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
export type HttpMethod = (typeof httpMethods)[number]

/** Headers of one request; more than any server takes. */
export const headerLimit = 200
/** A header; several of one name are several entries. The value's characters are bytes (Latin-1). */
const Header = Type.Tuple([Type.String(), Type.String()])
const HeaderBlock = Type.Refine(Type.Array(Header, { maxItems: headerLimit }), isSendableBlock)

/** Whether the headers are not larger together than a server takes. */
export function isSendableBlock(headers: readonly (readonly [string, string])[]): boolean {
  let size = 0
  for (const [name, value] of headers) size += name.length + value.length
  return size <= textLimits.headerBlock
}

export const HttpRequest = Type.Object({
  /** Absolute, as the plugin wrote it; may hold `user:pass@`. */
  url: Text(textLimits.url),
  method: Type.Enum([...httpMethods]),
  headers: HeaderBlock,
  body: Type.Optional(Bytes),
  /** Milliseconds for the whole of it, redirects and body too. */
  timeout: Type.Number({ exclusiveMinimum: 0 }),
  /** Accept a certificate that nobody vouches for. */
  insecure: Type.Boolean(),
})
export type HttpRequest = Static<typeof HttpRequest>

export interface HttpAnswer {
  /** 0 when there was none. */
  status: number
  /** Names in lower case, each once; several values of one name are joined by commas. */
  headers: [name: string, value: string][]
  /** Decoded; empty when there was none. */
  body: Uint8Array
  /** Milliseconds from the sending to the end of the body. */
  elapsed: number
  /** Why there is no whole answer. */
  error?: { code: 'timeout' | 'network'; message: string }
}

/** Milliseconds for one attempt of a Modbus request, at most: a gateway does one at a time. */
export const modbusTimeoutLimit = 60_000

const Word = Type.Integer({ minimum: 0, maximum: 0xffff })
const ModbusTarget = {
  host: Type.Refine(Text(textLimits.hostName), (host) => host !== ''),
  port: Type.Integer({ minimum: 1, maximum: 0xffff }),
  unit: Type.Integer({ minimum: 0, maximum: 255 }),
  address: Word,
  /** Milliseconds for one attempt; absent: the gateway's own. */
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: modbusTimeoutLimit })),
}

/** What one telegram may carry (Modbus application protocol 1.1b3, section 6). */
export const modbusLimits = {
  readBits: 2_000,
  readRegisters: 125,
  writeBits: 1_968,
  writeRegisters: 123,
} as const

/** Read `quantity` of them, or write `values`; coils and discrete inputs are 0 or 1. */
export const ModbusRequest = Type.Union([
  Type.Object({
    ...ModbusTarget,
    fc: Type.Union([Type.Literal(1), Type.Literal(2)]),
    quantity: Type.Integer({ minimum: 1, maximum: modbusLimits.readBits }),
  }),
  Type.Object({
    ...ModbusTarget,
    fc: Type.Union([Type.Literal(3), Type.Literal(4)]),
    quantity: Type.Integer({ minimum: 1, maximum: modbusLimits.readRegisters }),
  }),
  Type.Object({
    ...ModbusTarget,
    fc: Type.Union([Type.Literal(5), Type.Literal(6)]),
    values: Type.Array(Word, { minItems: 1, maxItems: 1 }),
  }),
  Type.Object({
    ...ModbusTarget,
    fc: Type.Literal(15),
    values: Type.Array(Word, { minItems: 1, maxItems: modbusLimits.writeBits }),
  }),
  Type.Object({
    ...ModbusTarget,
    fc: Type.Literal(16),
    values: Type.Array(Word, { minItems: 1, maxItems: modbusLimits.writeRegisters }),
  }),
])
export type ModbusRequest = Static<typeof ModbusRequest>

/** What was read, or what was written. */
export type ModbusAnswer = { ok: true; values: number[] } | { ok: false; message: string }

/** A call from a plugin to a service of the host that takes its time. */
export const OutsideCall = Type.Union([
  Type.Object({ service: Type.Literal('http'), request: HttpRequest }),
  Type.Object({ service: Type.Literal('modbus'), request: ModbusRequest }),
])
export type OutsideCall = Static<typeof OutsideCall>
export type OutsideService = OutsideCall['service']

export type OutsideAnswer =
  { service: 'http'; answer: HttpAnswer } | { service: 'modbus'; answer: ModbusAnswer }

/** The answer to a call that came to nothing. */
export function failedAnswer(service: OutsideService, message: string): OutsideAnswer {
  if (service === 'modbus') return { service, answer: { ok: false, message } }
  return {
    service,
    answer: {
      status: 0,
      headers: [],
      body: new Uint8Array(),
      elapsed: 0,
      error: { code: 'network', message },
    },
  }
}
