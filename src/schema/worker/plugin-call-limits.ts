/** Calls within calls, over all plugins: more is an endless recursion. Lua's own limit for its part is 200. */
export const callDepthLimit = 32
/** References in one call; nobody hands over that many things at a time on purpose. */
export const serializedReferenceLimit = 10_000

/** The instance of an isolate, as `Plugin:new` made it; it is there for as long as the isolate is. */
export const instanceHandle = 0

/** Operations that any of their two operands may have led to; the receiver gets both of them. */
export const operators = ['concat', 'add', 'sub', 'mul', 'div', 'mod', 'pow', 'unm', 'lt', 'le'] as const

/** What can be done with a thing of another plugin; the names are those of metamethods without the underscores. */
export const pluginOperations = [
  ...(['index', 'newindex', 'call', 'invoke', 'len', 'tostring', 'entries'] as const),
  ...operators,
] as const
export type PluginOperation = (typeof pluginOperations)[number]
