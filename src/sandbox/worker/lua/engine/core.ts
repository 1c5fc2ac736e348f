/** fengari's other modules, which take some functions of the first ones by value: loaded after those are changed. */
import './settings.ts'
import fengari from './fengari-rest.cts'

export const {
  lua,
  auxiliary,
  debugging,
  calls,
  lexer,
  objects,
  opcodes,
  states,
  tables,
  metamethods,
  libraries,
  machine,
} = fengari
