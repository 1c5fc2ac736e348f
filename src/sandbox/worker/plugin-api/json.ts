import { jsonText } from '../../../base/json.ts'
import type { HostFunction, LuaValue } from '../lua/lua-value.ts'
import { foreignCallerJsonValues } from '../peers/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { bytesOf, isTable, textOf, typeName } from './arguments.ts'
import { mostJsonValues, parseJsonText } from './json-text.ts'

/** `plugin:jsonDecode`, `plugin:jsonEncode` and `JSON` (plugin API, section 4). */
export function installJson(context: PluginContext): void {
  const { runtime, foreignCallers } = context

  function decode(text: LuaValue): LuaValue | LuaValue[] {
    if (!(text instanceof Uint8Array)) {
      return [undefined, bytesOf(`JSON text must be a string, not ${typeName(text)}`)]
    }
    try {
      const most = foreignCallers.current === undefined ? mostJsonValues : foreignCallerJsonValues
      return context.fromJson(parseJsonText(textOf(text), most))
    } catch (error) {
      return [undefined, bytesOf(`not valid JSON: ${messageText(error)}`)]
    }
  }

  function encode(value: LuaValue): LuaValue | LuaValue[] {
    try {
      const json = value === undefined ? null : context.toJson(value)
      if (json === undefined) return [undefined, bytesOf(`a ${typeName(value)} cannot be written as JSON`)]
      return bytesOf(jsonText(json))
    } catch (error) {
      return [undefined, bytesOf(messageText(error))]
    }
  }

  context.addMethod('jsonDecode', decode)
  context.addMethod('jsonEncode', encode)

  const { JSON: json } = context.tables
  for (const [name, implementation] of Object.entries({ decode, encode })) {
    // `JSON:encode(value)` and `JSON.encode(value)` are both seen.
    const full = `JSON:${name}`
    const callable: HostFunction = (...args) => {
      const [first, second] = args
      return implementation(isTable(first) && first.is(json) ? second : first)
    }
    context.implement(full, () => runtime.wrap(full, callable))
  }
}

function messageText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
