import { lazily } from '../../../../base/lazily.ts'
import { toBytes } from '../text/bytes.ts'
import { auxiliary, basicType, lua, objects, rawSet, shareFields, tables, tags } from '../engine/engine.ts'
import type { LuaState, RawFunction, RawTable, TaggedValue } from '../engine/fengari-types.ts'
import { setFunctions } from '../raw-function.ts'
import { sharedFunction } from '../shared-functions.ts'
import { allowedLibraries, type Library, type LibraryContext } from './libraries.ts'

/** Functions by their names, of each library, once the state has used one of them. */
const functionsIn = new WeakMap<object, (library: Library) => Record<string, RawFunction>>()

/**
 * Opens what a plugin may use. The libraries are made once for all Lua states of this worker: a table of them is copied
 * when a state changes it, and what needs something of its state is made there when it uses that library first.
 */
export function openLibraries(L: LuaState, context: LibraryContext): void {
  const made = new Map<Library, Record<string, RawFunction>>()
  functionsIn.set(L.l_G, (library) => {
    const functions = made.get(library) ?? library.functions?.(context) ?? {}
    made.set(library, functions)
    return functions
  })
  const { l_registry: registry, mt: metatables } = template().l_G
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

/** A state that runs nothing, with all libraries, in which functions that need something of their state are shared ones. */
const template = lazily(() => {
  const L = auxiliary.luaL_newstate()
  for (const library of allowedLibraries) {
    auxiliary.luaL_requiref(L, toBytes(library.name), library.open, 1)
    // Only the names are wanted here.
    const names = Object.keys(library.functions?.({} as LibraryContext) ?? {})
    setFunctions(L, Object.fromEntries(names.map((name) => [name, sharedMember(library, name)])))
    lua.lua_pop(L, 1)
  }
  return L
})

function sharedMember(library: Library, name: string): RawFunction {
  return sharedFunction((L) => {
    const made = functionsIn.get(L.l_G)?.(library)[name]
    if (made === undefined) throw new Error(`this Lua state has no ${library.name}.${name}`)
    return made
  })
}

function fieldsOf(table: RawTable): { key: TaggedValue; value: TaggedValue }[] {
  const fields = []
  for (let entry = table.f; entry !== undefined; entry = entry.n) fields.push(entry)
  return fields
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
    const made = isFlat ? shareFields(L, table) : tables.luaH_new(L)
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
