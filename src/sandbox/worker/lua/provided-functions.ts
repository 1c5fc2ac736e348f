import { objects, rawSet, shareFields, tags } from './engine.ts'
import type { LuaState, RawFunction, RawTable } from './fengari-types.ts'
import type { References } from './lua-reference.ts'
import type { LuaFunction, LuaRuntime } from './lua-value.ts'
import { implementShared, sharedFunction } from './shared-functions.ts'
import { sharedName } from './shared-strings.ts'

/** Functions of one state that are made when somebody uses them first: a plugin uses few of what there is. */
export function createProvidedFunctions(
  L: LuaState,
  references: References,
): Pick<LuaRuntime, 'provide' | 'settleTable'> {
  const makers = new Map<RawFunction, () => LuaFunction>()
  const made = new Map<RawFunction, RawFunction>()

  implementShared(L, (shared) => {
    const known = made.get(shared)
    if (known !== undefined) return known
    const make = makers.get(shared)
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
    settleTable: (name, table) => shareFields(L, name, references.toTagged(table).value as RawTable),
  }
}
