import Type, { type TSchema } from 'typebox'
import { envelope, hostFacts, type JournalEvent, pluginFacts } from './journal-event.ts'
import { FullId } from '../names/identifier-schema.ts'
import { createParser, type Parsed, type Parser } from '../parsing/parser.ts'

/** Checks what was read from the journal: a checksum says that a line is whole, not that it makes sense. */

const parsers = new Map<string, Parser<unknown>>()
for (const [plugin, facts] of [
  [FullId, pluginFacts],
  [Type.Null(), hostFacts],
] as const) {
  for (const [type, data] of Object.entries<TSchema>(facts)) {
    const event = { version: Type.Integer(), ...envelope, type: Type.Literal(type), plugin, data }
    parsers.set(type, createParser(Type.Object(event)))
  }
}

export function isEventType(type: string): boolean {
  return parsers.has(type)
}

export function parseStoredEvent(value: { type?: unknown }): Parsed<JournalEvent & { version: number }> {
  const parse = typeof value.type === 'string' ? parsers.get(value.type) : undefined
  if (parse === undefined) {
    return {
      ok: false,
      errors: [{ path: '/type', message: `unknown event type ${JSON.stringify(value.type)}` }],
    }
  }
  // The parser was made for exactly this type of event.
  return parse(value) as Parsed<JournalEvent & { version: number }>
}
