import { toBytes } from './text/bytes.ts'
import { objects, strings, tags } from './engine/engine.ts'

import type { LuaString, TaggedValue } from './engine/fengari-types.ts'

/**
 * Names that the host gives to fields and functions, one of each for all Lua states of this worker: nobody can change a
 * string, and Lua compares what it says.
 */
const known = new Map<string, LuaString>()
/** How many there are at most, with those that only came by, and how many characters one of these has. */
const mostNames = 1_000
const shortName = 20

/** Only for names that stand in the program: what is known once stays. */
export function sharedName(text: string): TaggedValue {
  let name = known.get(text)
  if (name === undefined) {
    name = new strings.TString(null, toBytes(text))
    known.set(text, name)
  }
  return new objects.TValue(tags.string, name)
}

/** The name, if it is one. Short texts that come by early become names, as most are those of fields that the host sets. */
export function nameOf(text: string): TaggedValue | undefined {
  const name = known.get(text)
  if (name !== undefined) return new objects.TValue(tags.string, name)
  return known.size < mostNames && text.length <= shortName ? sharedName(text) : undefined
}
