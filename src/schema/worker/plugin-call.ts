import Type, { type Static } from 'typebox'
import {
  callDepthLimit,
  type PluginOperation,
  pluginOperations,
  serializedReferenceLimit,
} from './plugin-call-limits.ts'
import { Bytes } from '../outside/outside.ts'
import { Text, textLimits } from '../parsing/text.ts'
import { oneOf } from '../parsing/one-of.ts'

export * from './plugin-call-limits.ts'

/** What plugins say to each other, through the host (`src/sandbox/README.md`, "Calls between plugins"). */

/** As frames carry it (`call-frames.ts`). */
export const Uint32 = Type.Integer({ minimum: 0, maximum: 0xffff_ffff })

/** Something that stays where it is: a table or a function of an isolate, by the number it has there. */
export const Reference = Type.Object({
  owner: Uint32,
  handle: Uint32,
  type: oneOf(['table', 'function']),
  /** Full id of the owner, for messages. */
  plugin: Text(textLimits.pluginId),
})
export type Reference = Static<typeof Reference>

/** Lua values on their way: plain ones are in the body (`worker/peers/serialized-values.ts`), the others referred to. */
export const SerializedValues = Type.Object({
  body: Bytes,
  references: Type.Array(Reference, { maxItems: serializedReferenceLimit }),
})
export type SerializedValues = Static<typeof SerializedValues>

/** A reference that its holder has got `count` times and does not need any more. */
export const Release = Type.Object({ owner: Uint32, handle: Uint32, count: Uint32 })
export type Release = Static<typeof Release>

/** What can be done with a thing of another plugin: call it, read from it, and what its metatable knows. */
export const PluginCall = Type.Object({
  kind: Type.Literal('callPlugin'),
  owner: Uint32,
  handle: Uint32,
  operation: Type.Unsafe<PluginOperation>(Type.Enum([...pluginOperations])),
  /** 1 for a call that no other plugin's call has led to. */
  depth: Type.Integer({ minimum: 1, maximum: callDepthLimit }),
  serialized: SerializedValues,
  /** The caller goes on meanwhile, and hears of the end. */
  background: Type.Optional(Type.Literal(true)),
})
export type PluginCall = Static<typeof PluginCall>

export const PluginCallOutcome = Type.Union([
  Type.Object({ ok: Type.Literal(true), serialized: SerializedValues }),
  /** Cut by the host. */
  Type.Object({ ok: Type.Literal(false), message: Type.String() }),
])
export type PluginCallOutcome = Static<typeof PluginCallOutcome>

/** A line of `Plugin.list()`. */
export interface PluginSummary {
  id: string
  shortId: string
  name: string
  version: string
  description: string | null
  enabled: boolean
}

/** What a plugin may do through another one's instance only if its own manifest allows it too. */
export const ForeignCallPermission = oneOf(['publish', 'subscribe'])
export type ForeignCallPermission = Static<typeof ForeignCallPermission>
