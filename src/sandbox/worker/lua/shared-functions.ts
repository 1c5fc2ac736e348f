import type { LuaState, RawFunction } from './engine/fengari-types.ts'

/** What a shared function does in a state. */
type Make = (L: LuaState, shared: RawFunction) => RawFunction
const makers = new WeakMap<RawFunction, Make>()
const names = new WeakMap<RawFunction, string>()

/**
 * A function that Lua sees as one for all states of this worker, and that nobody can change; what it does in a state is
 * made there when somebody uses it first. `name`: of the host's.
 */
export function sharedFunction(make: Make, name?: string): RawFunction {
  // Most calls are of what has been made, and go no further than this.
  const shared: RawFunction = (L) => (L.l_G.implementations?.get(shared) ?? implementationIn(L, shared))(L)
  makers.set(shared, make)
  if (name !== undefined) names.set(shared, name)
  return shared
}

/** Undefined for any function but a shared one of the host. */
export const nameOfShared = (implementation: RawFunction): string | undefined => names.get(implementation)

/** Makes it, if nobody has used it yet. */
export function implementationIn(L: LuaState, shared: RawFunction): RawFunction {
  const implementations = (L.l_G.implementations ??= new Map<RawFunction, RawFunction>())
  const known = implementations.get(shared)
  if (known !== undefined) return known
  const made = makers.get(shared)?.(L, shared)
  if (made === undefined) throw new Error('this is no shared function')
  implementations.set(shared, made)
  return made
}
