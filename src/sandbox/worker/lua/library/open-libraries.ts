import { lazily } from '../../../../base/lazily.ts'
import { toBytes, toUnicode } from '../text/bytes.ts'
import {
  auxiliary,
  basicType,
  libraries,
  lua,
  objects,
  rawSet,
  sharing,
  tables,
  tags,
} from '../engine/engine.ts'
import type { LuaState, LuaString, RawFunction, RawTable, TaggedValue } from '../engine/fengari-types.ts'
import { changes, type LibraryContext } from './libraries.ts'
import { openString } from './string-library.ts'
import { openTable } from './table-library.ts'

/**
 * Opens what a plugin may use. The libraries are made once for all Lua states of this worker: a table of them is copied
 * when a state changes it, and what `libraries.ts` changes in a library is made in a state when it uses that library
 * first.
 */
export function openLibraries(L: LuaState, context: LibraryContext): void {
  L.l_G.libraries = { context, functions: new Map() }
  const { l_registry: registry, mt: metatables } = template().changed.l_G
  const copy = createCopier(L)
  for (const { key, value } of fieldsOf(registry.value as RawTable)) {
    if (value.type === tags.table) rawSet(L, L.l_G.l_registry.value as RawTable, key, copy(value))
  }
  // Strings have one.
  for (const [type, metatable] of metatables.entries()) {
    if (metatable !== undefined && metatable !== null)
      L.l_G.mt[type] = copy(new objects.TValue(tags.table, metatable)).value as RawTable
  }
}

/** A function that stands for one of each state. */
interface Replaced {
  stub: RawFunction
  /** Where it is in its library. */
  path: readonly string[]
}

/** All libraries as fengari has them, and with stubs for what is changed. */
const template = lazily(() => {
  const changed = openAll()
  /** Each library as it was, to make the changes in again. */
  const original = new Map<string, RawTable>()
  const replaced = new Map<string, Replaced[]>()
  for (const [library, change] of Object.entries(changes)) {
    lua.lua_getglobal(changed, toBytes(library))
    const table = changed.stack[changed.top - 1]?.value as RawTable
    original.set(library, sharing(changed, table))
    const before = valuesIn(changed.l_G.l_registry.value as RawTable)
    // It is never run: what it makes is replaced.
    change(changed, {} as LibraryContext)
    replaced.set(library, putStubs(library, table, before, []))
    lua.lua_pop(changed, 1)
  }
  return { original, changed, replaced }
})

function openAll(): LuaState {
  const L = auxiliary.luaL_newstate()
  for (const [name, open] of Object.entries({
    coroutine: libraries.luaopen_coroutine,
    math: libraries.luaopen_math,
    string: openString,
    table: openTable,
    utf8: libraries.luaopen_utf8,
    _G: libraries.luaopen_base,
  })) {
    auxiliary.luaL_requiref(L, toBytes(name), open, 1)
    lua.lua_pop(L, 1)
  }
  return L
}

function putStubs(
  library: string,
  table: RawTable,
  before: ReadonlySet<unknown>,
  place: string[],
): Replaced[] {
  return fieldsOf(table).flatMap(({ key, value }) => {
    if (before.has(value.value)) return []
    const path = [...place, toUnicode((key.value as LuaString).realstring)]
    if (value.type === tags.table) return putStubs(library, value.value as RawTable, before, path)
    if (value.type !== tags.jsFunction) return []
    const stub: RawFunction = (L) => {
      const functions = L.l_G.libraries?.functions
      return (functions?.get(stub) ?? makeFunctions(L, library, stub))(L)
    }
    value.value = stub
    return [{ stub, path }]
  })
}

/** Makes the changes of a library for this state, in a table that is thrown away. */
function makeFunctions(L: LuaState, library: string, wanted: RawFunction): RawFunction {
  const { original, replaced } = template()
  const state = L.l_G.libraries
  if (state === undefined || !lua.lua_checkstack(L, lua.LUA_MINSTACK))
    throw new Error('no room for a library')
  const source = original.get(library)
  if (source === undefined) throw new Error(`nothing is changed in ${library}`)
  const scratch = sharing(L, source)
  lua.lua_pushnil(L)
  L.stack[L.top - 1]?.setfrom(new objects.TValue(tags.table, scratch))
  changes[library]?.(L, state.context)
  lua.lua_pop(L, 1)
  for (const { stub, path } of replaced.get(library) ?? []) {
    state.functions.set(stub, path.reduce<unknown>(fieldOf, scratch) as RawFunction)
  }
  return state.functions.get(wanted) as RawFunction
}

function fieldOf(table: unknown, name: string): unknown {
  return fieldsOf(table as RawTable).find(
    ({ key }) => toUnicode((key.value as LuaString).realstring) === name,
  )?.value.value
}

function fieldsOf(table: RawTable): { key: TaggedValue; value: TaggedValue }[] {
  const fields = []
  for (let entry = table.f; entry !== undefined; entry = entry.n) fields.push(entry)
  return fields
}

/** All that is in the table, and in the tables in it. */
function valuesIn(table: RawTable, found = new Set<unknown>()): Set<unknown> {
  for (const { value } of fieldsOf(table)) {
    if (found.has(value.value)) continue
    found.add(value.value)
    if (value.type === tags.table) valuesIn(value.value as RawTable, found)
  }
  return found
}

const plain = new Set<number>([tags.boolean, tags.number, tags.string].map(basicType))

/** Copies values so that no state sees what another one changes; a table twice is one table. */
function createCopier(L: LuaState): (value: TaggedValue) => TaggedValue {
  const copies = new Map<RawTable, RawTable>()
  function copyTable(table: RawTable): RawTable {
    const known = copies.get(table)
    if (known !== undefined) return known
    const fields = fieldsOf(table)
    const isFlat = !fields.some(({ value }) => value.type === tags.table)
    const made = isFlat ? sharing(L, table) : tables.luaH_new(L)
    copies.set(table, made)
    if (!isFlat) for (const { key, value } of fields) rawSet(L, made, key, copy(value))
    made.metatable = table.metatable && copyTable(table.metatable)
    return made
  }
  function copy(value: TaggedValue): TaggedValue {
    if (value.type === tags.table) return new objects.TValue(tags.table, copyTable(value.value as RawTable))
    if (plain.has(basicType(value.type)) || value.type === tags.jsFunction) return value
    throw new Error('a library holds what two Lua states must not share')
  }
  return copy
}
