/** The only way to fengari: what it exports has the changes of the files above already. */
import './core.ts'
import './calls.ts'
import './compiler.ts'
import './numbers.ts'
import './tables.ts'
import { definitions } from './settings.ts'

export {
  auxiliary,
  calls,
  debugging,
  libraries,
  lua,
  machine,
  objects,
  opcodes,
  states,
  tables,
} from './core.ts'
export { countFailedCall, mostCallsPerCheck } from './calls.ts'
export { whileCompiling } from './numbers.ts'
export { strings, watchStrings } from './settings.ts'
export { firstEntry, lazyTable, rawSet, shareFields } from './tables.ts'

const tag = (name: string): number => {
  const value = definitions.constant_types[name]
  if (value === undefined) throw new Error(`fengari has no type ${name}`)
  return value
}

/** Tags of values; those of functions and numbers have variants. */
export const tags = {
  nil: tag('LUA_TNIL'),
  boolean: tag('LUA_TBOOLEAN'),
  number: tag('LUA_TNUMFLT'),
  string: tag('LUA_TLNGSTR'),
  table: tag('LUA_TTABLE'),
  jsFunction: tag('LUA_TLCF'),
  luaFunction: tag('LUA_TLCL'),
}

/** The type with its variant, without the mark of what is collected. */
export const variantType = (type: number): number => type & 0x3f
/** The basic type, without the variant. */
export const basicType = (type: number): number => type & 0x0f
