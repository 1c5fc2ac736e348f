import { objects, rawSet, sharing, tables, tags } from './engine/engine.ts'
import type { LuaState, RawFunction, RawTable, TaggedValue } from './engine/fengari-types.ts'
import type { References } from './lua-reference.ts'
import type { LibraryFields, LuaFunction, LuaRuntime, LuaTable } from './lua-value.ts'
import { implementShared, sharedFunction } from './shared-functions.ts'
import { sharedName } from './shared-strings.ts'

/** Which function of which library a shared one is, and the tables of the libraries, for all states of this worker. */
const members = new Map<RawFunction, { library: string; member: string }>()
const libraryTables = new Map<string, RawTable>()

function libraryTable(L: LuaState, library: string, fields: LibraryFields): RawTable {
  const known = libraryTables.get(library)
  if (known !== undefined) return known
  const table = tables.luaH_new(L)
  for (const [member, field] of Object.entries(fields))
    rawSet(L, table, sharedName(member), taggedField(library, member, field))
  libraryTables.set(library, table)
  return table
}

function taggedField(library: string, member: string, field: string | number): TaggedValue {
  if (typeof field === 'number') return new objects.TValue(tags.number, field)
  const shared = sharedFunction(field)
  members.set(shared, { library, member })
  return new objects.TValue(tags.jsFunction, shared)
}

/** Functions of one state that are made when somebody uses them first: a plugin uses few of what there is. */
export function createProvidedFunctions(
  L: LuaState,
  references: References,
): Pick<LuaRuntime, 'provide' | 'provideLibrary'> {
  const makers = new Map<RawFunction, () => LuaFunction>()
  const libraryMakers = new Map<string, (member: string) => LuaFunction>()
  const made = new Map<RawFunction, RawFunction>()

  function makerOf(shared: RawFunction): (() => LuaFunction) | undefined {
    const found = members.get(shared)
    if (found === undefined) return makers.get(shared)
    const make = libraryMakers.get(found.library)
    return make && (() => make(found.member))
  }

  implementShared(L, (shared) => {
    const known = made.get(shared)
    if (known !== undefined) return known
    const make = makerOf(shared)
    if (make === undefined) throw new Error('this Lua state does not have that function')
    makers.delete(shared)
    const implementation = references.adopt(make(), shared)
    made.set(shared, implementation)
    return implementation
  })

  return {
    provide(table, key, name, make) {
      const shared = sharedFunction(name)
      if (makers.has(shared)) throw new Error(`there are two functions ${name}`)
      makers.set(shared, make)
      const raw = references.toTagged(table).value as RawTable
      rawSet(L, raw, sharedName(key), new objects.TValue(tags.jsFunction, shared))
    },
    provideLibrary(library, fields, make) {
      libraryMakers.set(library, make)
      const table = sharing(L, libraryTable(L, library, fields))
      return references.fromTagged(new objects.TValue(tags.table, table)) as LuaTable
    },
  }
}
