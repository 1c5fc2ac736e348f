/** Tables that somebody watches: fengari's machine and library set fields through one function, which looks here. */
import './engine-core.ts'
import definitions from 'fengari/src/defs.js'
import objects from 'fengari/src/lobject.js'
import tables from 'fengari/src/ltable.js'
import metamethods from 'fengari/src/ltm.js'

const { LUA_TTABLE: tableTag } = definitions.constant_types

/** Sets a field past whoever watches. */
export const rawSet = tables.luaH_setfrom

tables.luaH_setfrom = (L, table, key, value) => {
  if (table.writer === undefined) rawSet(L, table, key, value)
  else metamethods.luaT_callTM(L, table.writer, new objects.TValue(tableTag ?? 0, table), key, value, 0)
}
