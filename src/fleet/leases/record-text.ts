import Type from 'typebox'
import { createParser, type Parser } from '../../schema/parsing/parser.ts'
import { type LeaseRecord, sessionPattern, type SessionRecord } from './records.ts'

/** Records as they stand in the store. Undefined: somebody wrote anything else there. */

const session = Type.String({ pattern: sessionPattern.source })
const epoch = Type.Integer({ minimum: 1 })
const parseSession = createParser(
  Type.Object({ session, n: Type.Integer({ minimum: 0 }), isFull: Type.Optional(Type.Literal(true)) }),
)
const parseLease = createParser(
  Type.Union([
    Type.Object({
      host: Type.String({ minLength: 1 }),
      ...{ session, epoch, released: Type.Optional(Type.Literal(true)) },
    }),
    Type.Object({ host: Type.Null(), session: Type.Null(), epoch }),
  ]),
)

export function readSession(data: Uint8Array): SessionRecord | undefined {
  return read(parseSession, data)
}

export function readLease(data: Uint8Array): LeaseRecord | undefined {
  return read(parseLease, data)
}

function read<T>(parse: Parser<T>, data: Uint8Array): T | undefined {
  try {
    const result = parse(JSON.parse(Buffer.from(data).toString()))
    return result.ok ? result.value : undefined
  } catch {
    return undefined
  }
}
