import Type, { type Static } from 'typebox'
import { createParser } from '../parsing/parser.ts'

/** What a plugin (full id) has retained: topics, with the bytes of their payloads when the file was written. */
export const RetainedFile = Type.Object({
  version: Type.Literal(1),
  plugin: Type.String(),
  topics: Type.Array(Type.Tuple([Type.String(), Type.Integer({ minimum: 0 })])),
})
export type RetainedFile = Static<typeof RetainedFile>

export const parseRetainedFile = createParser(RetainedFile)
