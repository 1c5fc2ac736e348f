import type { Json } from '../../../base/json.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import { deepest } from '../lua/plain.ts'
import type { PluginContext } from '../plugin-context.ts'
import { bytesOf, isTable, textOf, typeName } from './arguments.ts'

/** `plugin:jsonDecode`, `plugin:jsonEncode` and `JSON` (plugin API, section 4). */
export function installJson(context: PluginContext): void {
  const { runtime } = context

  function decode(text: LuaValue): LuaValue | LuaValue[] {
    if (!(text instanceof Uint8Array)) {
      return [undefined, bytesOf(`JSON text must be a string, not ${typeName(text)}`)]
    }
    try {
      const plain = textOf(text)
      // Before it is read: a megabyte of brackets would take many times as much of the plugin's memory.
      if (nestsTooDeep(plain)) return [undefined, bytesOf(`not valid JSON: more than ${deepest} levels deep`)]
      return context.fromJson(JSON.parse(plain) as Json)
    } catch (error) {
      return [undefined, bytesOf(`not valid JSON: ${messageText(error)}`)]
    }
  }

  function encode(value: LuaValue): LuaValue | LuaValue[] {
    try {
      const json = value === undefined ? null : context.toJson(value)
      if (json === undefined) return [undefined, bytesOf(`a ${typeName(value)} cannot be written as JSON`)]
      return bytesOf(JSON.stringify(json))
    } catch (error) {
      return [undefined, bytesOf(messageText(error))]
    }
  }

  context.addMethod('jsonDecode', decode)
  context.addMethod('jsonEncode', encode)

  const json = runtime.newTable()
  for (const [name, implementation] of Object.entries({ decode, encode })) {
    // `JSON:encode(value)` and `JSON.encode(value)` are both seen.
    const callable = runtime.wrap(`JSON:${name}`, (...args) => {
      const [first, second] = args
      return implementation(isTable(first) && first.is(json) ? second : first)
    })
    json.set(name, callable)
  }
  runtime.globals.set('JSON', json)
}

/** Whether a text that may be JSON has more arrays and objects within each other than a Lua value may. */
function nestsTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index += 1) {
    const unit = text[index]
    if (inString) {
      if (unit === '\\') index += 1
      else if (unit === '"') inString = false
    } else if (unit === '"') inString = true
    else if (unit === '[' || unit === '{') {
      depth += 1
      if (depth > deepest) return true
    } else if (unit === ']' || unit === '}') depth -= 1
  }
  return false
}

function messageText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
