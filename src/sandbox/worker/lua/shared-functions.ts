import type { LuaState, RawFunction } from './engine/fengari-types.ts'

/**
 * Functions of the host that every Lua state has under the same name. Lua sees one function for all states of this
 * worker, which nobody can change; what it does in a state is made there when somebody uses it first.
 */
const byName = new Map<string, RawFunction>()
const names = new WeakMap<RawFunction, string>()

/** Only for names that stand in the program: what is known once stays. */
export function sharedFunction(name: string): RawFunction {
  const known = byName.get(name)
  if (known !== undefined) return known
  const made: RawFunction = (L) => implementationIn(L, made)(L)
  byName.set(name, made)
  names.set(made, name)
  return made
}

/** Undefined for any other function. */
export const nameOfShared = (implementation: RawFunction): string | undefined => names.get(implementation)

/** Answers what a shared function does in a state. */
export type FindImplementation = (shared: RawFunction) => RawFunction
const states = new WeakMap<object, FindImplementation>()

export function implementShared(L: LuaState, find: FindImplementation): void {
  states.set(L.l_G, find)
}

/** Makes it, if nobody has used it yet. */
export function implementationIn(L: LuaState, shared: RawFunction): RawFunction {
  const find = states.get(L.l_G)
  if (find === undefined) throw new Error('this Lua state has no functions of the host')
  return find(shared)
}
