import Type, { type Static, type TSchema } from 'typebox'
import {
  bodyLimits,
  headerLimit,
  httpMethods,
  isSendableBlock,
  modbusLimits,
  modbusTimeoutLimit,
} from './outside-limits.ts'
import { SerialSettings } from './serial-settings.ts'
import { Text, textLimits } from '../parsing/text.ts'

export * from './outside-limits.ts'

/** What plugins ask of machines elsewhere, and what comes back; a worker has no network of its own. */

export const Bytes = Type.Refine(Type.Unsafe<Uint8Array>({}), (value) => value instanceof Uint8Array)

/** A header; several of one name are several entries. The value's characters are bytes (Latin-1). */
const Header = Type.Tuple([Type.String(), Type.String()])
export const HeaderBlock = Type.Refine(Type.Array(Header, { maxItems: headerLimit }), isSendableBlock)

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
  /** For a server that asks for digest authentication; not for another one that it leads to. */
  digest: Type.Optional(
    Type.Object({ user: Text(textLimits.headerBlock), password: Text(textLimits.headerBlock) }),
  ),
  /** With the cookies of the plugin's jar, which takes over what the answer sets. */
  cookies: Type.Optional(Type.Literal(true)),
  /** Bytes of the answer's body; absent: the default. */
  maxBody: Type.Optional(Type.Number({ minimum: 0, maximum: bodyLimits.most })),
})
export type HttpRequest = Static<typeof HttpRequest>

export interface HttpAnswer {
  /** 0 when there was none. */
  status: number
  /** Names in lower case, each once but `set-cookie`; several values of one name are joined by commas. */
  headers: [name: string, value: string][]
  /** Decoded; empty when there was none. */
  body: Uint8Array
  /** Milliseconds from the sending to the end of the body. */
  elapsed: number
  /** Why there is no whole answer. */
  error?: { code: 'timeout' | 'network' | 'too_large'; message: string }
}

/** A name or an address. */
export const Host = Type.Refine(Text(textLimits.hostName), (host) => host !== '')
export const Port = Type.Integer({ minimum: 1, maximum: 0xffff })

const Word = Type.Integer({ minimum: 0, maximum: 0xffff })
const ModbusTarget = {
  /** Modbus RTU on this port; then the host and the port below are not used. */
  serial: Type.Optional(SerialSettings),
  /** Modbus RTU over TCP, as converters for serial lines speak it. */
  rtu: Type.Optional(Type.Literal(true)),
  host: Host,
  port: Port,
  unit: Type.Integer({ minimum: 0, maximum: 255 }),
  address: Word,
  /** Milliseconds for one attempt; absent: the gateway's own. */
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: modbusTimeoutLimit })),
}

/** Reads `quantity` of them. */
const reading = <S extends TSchema>(fc: S, maximum: number) =>
  Type.Object({ ...ModbusTarget, fc, quantity: Type.Integer({ minimum: 1, maximum }) })
/** Writes `values`; coils and discrete inputs are 0 or 1. */
const writing = <S extends TSchema>(fc: S, maxItems: number) =>
  Type.Object({ ...ModbusTarget, fc, values: Type.Array(Word, { minItems: 1, maxItems }) })

export const ModbusRequest = Type.Union([
  reading(Type.Union([Type.Literal(1), Type.Literal(2)]), modbusLimits.readBits),
  reading(Type.Union([Type.Literal(3), Type.Literal(4)]), modbusLimits.readRegisters),
  writing(Type.Union([Type.Literal(5), Type.Literal(6)]), 1),
  writing(Type.Literal(15), modbusLimits.writeBits),
  writing(Type.Literal(16), modbusLimits.writeRegisters),
])
export type ModbusRequest = Static<typeof ModbusRequest>

/** What was read, or what was written. */
export type ModbusAnswer = { ok: true; values: number[] } | { ok: false; message: string }

/** A serial port of the host. */
export interface SerialPortView {
  path: string
  manufacturer?: string
  serialNumber?: string
  vendorId?: string
  productId?: string
}
export type SerialPortsAnswer = { ok: true; ports: SerialPortView[] } | { ok: false; message: string }

/** A call from a plugin to a service of the host that takes its time. */
export const OutsideCall = Type.Union([
  Type.Object({ service: Type.Literal('http'), request: HttpRequest }),
  Type.Object({ service: Type.Literal('modbus'), request: ModbusRequest }),
  Type.Object({ service: Type.Literal('serialPorts') }),
])
export type OutsideCall = Static<typeof OutsideCall>
export type OutsideService = OutsideCall['service']

export type OutsideAnswer =
  | { service: 'http'; answer: HttpAnswer }
  | { service: 'modbus'; answer: ModbusAnswer }
  | { service: 'serialPorts'; answer: SerialPortsAnswer }
