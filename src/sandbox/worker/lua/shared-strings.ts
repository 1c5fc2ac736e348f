import { toBytes } from './bytes.ts'
import { objects, strings, tags } from './engine.ts'

import type { LuaString, TaggedValue } from './fengari-types.ts'

/**
 * Names that the host gives to fields and functions, one of each for all Lua states of this worker: nobody can change a
 * string, and Lua compares what it says.
 */
const known = new Map<string, LuaString>()

/** Only for names that stand in the program: what is known once stays. */
export function sharedName(text: string): TaggedValue {
  let name = known.get(text)
  if (name === undefined) {
    name = new strings.TString(null, toBytes(text))
    known.set(text, name)
  }
  return new objects.TValue(tags.string, name)
}

/** The name, if it is one. */
export function nameIfShared(text: string): TaggedValue | undefined {
  const name = known.get(text)
  return name && new objects.TValue(tags.string, name)
}
