import Type, { type Static, type TSchema } from 'typebox'
import { FullId } from '../names/identifier-schema.ts'
import { createParser, type Parser } from '../parsing/parser.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** What comes in on `R/request/<verb>` (contract, section 4). */

const text = Type.String({ minLength: 1 })
/** As over HTTP, null says the same as leaving the member out. */
const optional = <S extends TSchema>(schema: S, description: string) =>
  Type.Optional(nullable(schema, { description }))
const optionalText = optional(text, 'A text of a character or more, or null')
const optionalFullId = optional(FullId, 'An id of the form @namespace/shortId, or null')
/** Comes back as it is, so that the sender finds the answer to its request. */
const transaction = Type.Optional(Type.Unknown())
/** Full id, or the short id when only one installed plugin has it. */
const plugin = text

/** As over HTTP: `{"enable": false}` must not switch the plugin over, because it is not said what it is to be. */
const strict = { additionalProperties: false }

const PurgeTarget = oneOf(['kv', 'files'])

const mqttRequests = {
  list: Type.Object({ transaction }),
  /** `plugin` is another name for `fullId`; one of them is needed. */
  install: Type.Object(
    {
      fullId: optionalFullId,
      plugin: optionalFullId,
      id: optionalText,
      repository: optionalText,
      version: optionalText,
      transaction,
    },
    strict,
  ),
  toggle: Type.Object({ plugin, enabled: Type.Optional(Type.Boolean()), transaction }, strict),
  config: Type.Object({ plugin, config: Type.Record(Type.String(), Type.Unknown()), transaction }, strict),
  reload: Type.Object({ plugin, transaction }, strict),
  update: Type.Object({ plugin, version: optionalText, transaction }, strict),
  uninstall: Type.Object({ plugin, purge: Type.Optional(Type.Array(PurgeTarget)), transaction }, strict),
} as const

export type MqttVerb = keyof typeof mqttRequests
export type MqttRequest<V extends MqttVerb> = Static<(typeof mqttRequests)[V]>

export const mqttVerbs = Object.keys(mqttRequests) as MqttVerb[]

export function isMqttVerb(text: string): text is MqttVerb {
  return Object.hasOwn(mqttRequests, text)
}

export const parseMqttRequest = Object.fromEntries(
  mqttVerbs.map((verb) => [verb, createParser(mqttRequests[verb])]),
) as { [V in MqttVerb]: Parser<MqttRequest<V>> }
