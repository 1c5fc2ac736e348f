/** Tables that somebody watches: fengari's machine and library set fields through one function, which looks here. */
import { metamethods, objects, tables } from './engine-core.ts'
import { definitions } from './engine-settings.ts'

const { LUA_TTABLE: tableTag } = definitions.constant_types

/** Sets a field past whoever watches. */
export const rawSet = tables.luaH_setfrom

tables.luaH_setfrom = (L, table, key, value) => {
  if (table.writer === undefined) rawSet(L, table, key, value)
  else metamethods.luaT_callTM(L, table.writer, new objects.TValue(tableTag ?? 0, table), key, value, 0)
}
