import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { lazily } from '../../../base/lazily.ts'
import { isFunction, isTable } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'

/**
 * What can be done with a thing of another plugin, each as Lua itself does it. `entries` answers the pairs that
 * `pairs` gives as one flat list, and its length.
 */
const source = `
return function(pairs, tostring) return {
  index = function(object, key) return object[key] end,
  call = function(object, ...) return object(...) end,
  len = function(object) return #object end,
  tostring = tostring,
  entries = function(object)
    local list, size = {}, 0
    for key, value in pairs(object) do
      list[size + 1], list[size + 2] = key, value
      size = size + 2
    end
    return list, size
  end,
  concat = function(a, b) return a .. b end,
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  mod = function(a, b) return a % b end,
  pow = function(a, b) return a ^ b end,
  unm = function(a) return -a end,
  lt = function(a, b) return a < b end,
  le = function(a, b) return a <= b end,
} end`

/** By name. Compiled with the first call of another plugin, which most plugins never get. */
export type Operations = () => ReadonlyMap<string, LuaFunction>

export function createOperations(runtime: LuaRuntime): Operations {
  // As they are before the plugin can put something else in their place.
  const builtIn = ['pairs', 'tostring'].map((name) => runtime.globals.get(name))
  return lazily(() => {
    const [compiled] = runtime.run(toBytes(source), 'operation')
    const [table] = isFunction(compiled) ? runtime.call(compiled, ...builtIn) : []
    if (!isTable(table)) throw new TypeError('the operations are no table')
    return new Map(
      table
        .entries()
        .flatMap(([name, operation]): [string, LuaFunction][] =>
          name instanceof Uint8Array && isFunction(operation) ? [[toUnicode(name), operation]] : [],
        ),
    )
  })
}

/** The list that `entries` answers, as an array: key, value, key, value. */
export function flatEntries([list, size]: LuaValue[]): LuaValue[] {
  if (!isTable(list) || typeof size !== 'number') return []
  return Array.from({ length: size }, (_unused, index) => list.get(index + 1))
}

/** A table of such an array. */
export function fillTable(table: LuaTable, flat: readonly LuaValue[]): LuaTable {
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const key = flat[index]
    if (key !== undefined) table.set(key, flat[index + 1])
  }
  return table
}
