import Type from 'typebox'
import { isJson, type Json } from '../../base/text/json.ts'
import { Text, textLimits } from '../parsing/text.ts'

/** Fields of what a worker says, whatever it says. */

/** A structured clone carries more than JSON: what no listener could write down is refused where it comes in. */
const isJsonOrNothing = (value: unknown): boolean => value === undefined || isJson(value)
export const AnyJson = Type.Refine(Type.Unsafe<Json>({}), isJsonOrNothing)
export const Count = Type.Integer({ minimum: 0 })
/** Full id of a plugin. */
export const PluginId = Text(textLimits.pluginId)
export const ForeignCaller = Type.Optional(PluginId)
export const Name = Text(textLimits.name)
export const Topic = Text(textLimits.topic)
/** Cut by the host (`cutTexts`), never a reason to refuse what it is a part of. */
export const Shown = Type.String()
