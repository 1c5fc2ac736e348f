import { lazily } from '../../../../base/lazily.ts'
import { toBytes } from '../bytes.ts'
import { auxiliary, basicType, libraries, lua, objects, rawSet, tables, tags } from '../engine.ts'
import type { LuaState, RawTable, TaggedValue } from '../fengari-types.ts'

/** The libraries as fengari opens them, once for all states of this worker. */
const opened = lazily(() => {
  const L = auxiliary.luaL_newstate()
  for (const [name, open] of Object.entries({
    coroutine: libraries.luaopen_coroutine,
    math: libraries.luaopen_math,
    string: libraries.luaopen_string,
    table: libraries.luaopen_table,
    utf8: libraries.luaopen_utf8,
    _G: libraries.luaopen_base,
  })) {
    auxiliary.luaL_requiref(L, toBytes(name), open, 1)
    lua.lua_pop(L, 1)
  }
  return L.l_G
})

const plain = new Set<number>([tags.boolean, tags.number, tags.string].map(basicType))
/** What can be the same in several states. */
const isUnchangeable = ({ type }: TaggedValue): boolean =>
  plain.has(basicType(type)) || type === tags.jsFunction

/** Gives the state tables of its own; strings and functions in them are the same for all. */
export function copyLibraries(L: LuaState): void {
  const copies = new Map<RawTable, RawTable>()
  const copyOf = (table: RawTable): RawTable => {
    const known = copies.get(table)
    if (known !== undefined) return known
    const made = tables.luaH_new(L)
    copies.set(table, made)
    for (let entry = table.f; entry !== undefined; entry = entry.n)
      rawSet(L, made, entry.key, copied(entry.value))
    made.metatable = table.metatable && copyOf(table.metatable)
    return made
  }
  const copied = (value: TaggedValue): TaggedValue => {
    if (value.type === tags.table) return new objects.TValue(tags.table, copyOf(value.value as RawTable))
    if (!isUnchangeable(value)) throw new Error('a library holds what two Lua states must not share')
    return value
  }
  const { l_registry: registry, mt: metatables } = opened()
  for (let entry = (registry.value as RawTable).f; entry !== undefined; entry = entry.n) {
    if (entry.value.type !== tags.table) continue
    rawSet(L, L.l_G.l_registry.value as RawTable, entry.key, copied(entry.value))
  }
  // Strings have one.
  for (const [type, metatable] of metatables.entries()) {
    if (metatable !== undefined && metatable !== null) L.l_G.mt[type] = copyOf(metatable)
  }
}
