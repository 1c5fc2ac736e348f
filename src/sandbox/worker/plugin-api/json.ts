import { messageOf } from '../../../base/problem.ts'
import { jsonText } from '../../../base/text/json.ts'
import type { HostFunction, LuaValue } from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'
import { foreignCallerJsonValues } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { typeName, withoutSelf } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'
import { mostJsonValues, parseJsonText } from './json-text.ts'

/** Bytes of which it takes more than a millisecond to make tables. */
const longText = 4 * 1024

/** `plugin:jsonDecode`, `plugin:jsonEncode` and `JSON` (plugin API, section 4). */
export function installJson(context: PluginContext): void {
  const { runtime, foreignCallers } = context

  const notValid = (error: unknown): LuaValue[] => [undefined, toBytes(`not valid JSON: ${messageOf(error)}`)]

  function* decodeInSteps(text: string, most: number): Steps<LuaValue | LuaValue[]> {
    try {
      return yield* context.fromJsonInSteps(parseJsonText(text, most))
    } catch (error) {
      return notValid(error)
    }
  }

  function decode(text: LuaValue): ReturnType<HostFunction> {
    if (!(text instanceof Uint8Array)) {
      return [undefined, toBytes(`JSON text must be a string, not ${typeName(text)}`)]
    }
    try {
      const most = foreignCallers.current === undefined ? mostJsonValues : foreignCallerJsonValues
      if (text.length > longText) return decodeInSteps(toUnicode(text), most)
      return context.fromJson(parseJsonText(toUnicode(text), most))
    } catch (error) {
      return notValid(error)
    }
  }

  function encode(value: LuaValue): LuaValue | LuaValue[] {
    try {
      const json = value === undefined ? null : context.toJson(value)
      if (json === undefined) return [undefined, toBytes(`a ${typeName(value)} cannot be written as JSON`)]
      return toBytes(jsonText(json))
    } catch (error) {
      return [undefined, toBytes(messageOf(error))]
    }
  }

  context.addMethod('jsonDecode', decode)
  context.addMethod('jsonEncode', encode)

  const { JSON: json } = context.tables
  for (const [name, implementation] of Object.entries({ decode, encode })) {
    const full = `JSON:${name}`
    const callable: HostFunction = (...args) => implementation(withoutSelf(json, args)[0])
    context.implement(full, () => runtime.wrap(full, callable))
  }
}
