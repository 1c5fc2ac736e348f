import { objects, rawSet, shareFields, tables, tags } from './engine/engine.ts'
import type { LuaState, RawFunction, RawTable, TaggedValue } from './engine/fengari-types.ts'
import type { References } from './lua-reference.ts'
import type { LibraryFields, LuaFunction, LuaRuntime, LuaTable } from './lua-value.ts'
import { sharedFunction } from './shared-functions.ts'
import { sharedName } from './shared-strings.ts'

/** The functions by their names, and the tables of the libraries, for all states of this worker. */
const functions = new Map<string, RawFunction>()
const libraryTables = new Map<string, RawTable>()
/** What makes a function of a library in a state. */
type MakeMember = (library: string, member: string, shared: RawFunction) => RawFunction
const makersIn = new WeakMap<object, MakeMember>()

function setFields(L: LuaState, table: RawTable, library: string, fields: LibraryFields): void {
  for (const [member, field] of Object.entries(fields))
    rawSet(L, table, sharedName(member), taggedField(library, member, field))
}

function libraryTable(L: LuaState, library: string, fields: LibraryFields): RawTable {
  const known = libraryTables.get(library)
  if (known !== undefined) return known
  const table = tables.luaH_new(L)
  setFields(L, table, library, fields)
  libraryTables.set(library, table)
  return table
}

function taggedField(library: string, member: string, field: string | number): TaggedValue {
  if (typeof field === 'number') return new objects.TValue(tags.number, field)
  const shared = functions.get(field) ?? sharedMember(library, member, field)
  functions.set(field, shared)
  return new objects.TValue(tags.jsFunction, shared)
}

function sharedMember(library: string, member: string, name: string): RawFunction {
  return sharedFunction((L, shared) => {
    const make = makersIn.get(L.l_G)
    if (make === undefined) throw new Error('this Lua state has no functions of the host')
    return make(library, member, shared)
  }, name)
}

/** Functions of one state that are made when somebody uses them first: a plugin uses few of what there is. */
export function createProvidedFunctions(
  L: LuaState,
  references: References,
): Pick<LuaRuntime, 'provideLibrary'> {
  const makers = new Map<string, (member: string) => LuaFunction>()
  makersIn.set(L.l_G, (library, member, shared) => {
    const make = makers.get(library)
    if (make === undefined) throw new Error('this Lua state does not have that function')
    return references.adopt(make(member), shared)
  })

  return {
    provideLibrary(library, fields, make, into) {
      makers.set(library, make)
      if (into !== undefined) {
        setFields(L, references.toTagged(into).value as RawTable, library, fields)
        return into
      }
      const table = shareFields(L, libraryTable(L, library, fields))
      return references.fromTagged(new objects.TValue(tags.table, table)) as LuaTable
    },
  }
}
