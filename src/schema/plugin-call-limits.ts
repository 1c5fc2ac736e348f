/** Calls within calls, over all plugins: more is an endless recursion. Lua's own limit for its part is 200. */
export const callDepthLimit = 32
/** References in one call; nobody hands over that many things at a time on purpose. */
export const serializedReferenceLimit = 10_000

/** The instance of an isolate, as `Plugin:new` made it; it is there for as long as the isolate is. */
export const instanceHandle = 0
