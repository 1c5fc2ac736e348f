import type { HostFunction, LuaFunction, LuaRuntime, LuaValue } from '../lua/lua-value.ts'

/** Share of a limit that others may use up through an instance; the rest stays for the plugin itself. */
const visitorShare = 0.5

/** Bytes that others may have copied or encoded through an instance in one call: half of the largest message. */
export const visitorBytes = 512 * 1024
/** Values of a JSON text that is read for them. */
export const visitorJsonValues = 50_000

/** The full id of the plugin that has called; undefined when the plugin itself has. */
export type Visitor = string | undefined
/** A method of the host that wants to know who calls it. */
export type VisitedFunction = (visitor: Visitor, ...args: LuaValue[]) => ReturnType<HostFunction>

/** Who calls a method of the host on this plugin's instance: the plugin itself, or another one from outside. */
export interface Visitors {
  method(name: string, implementation: VisitedFunction): LuaFunction
  /** Whether it was made here: its first argument is the object, or may be. */
  isMethod(callee: LuaFunction): boolean
  /** Runs `call`, which calls `callee` for another plugin. What the callee then calls is its own doing. */
  admit<T>(plugin: string, callee: LuaFunction, call: () => T): T
  /** For whom the method of the host that runs now works. */
  readonly current: Visitor
}

export function createVisitors(runtime: LuaRuntime): Visitors {
  const methods = new WeakSet<LuaFunction>()
  let expected: Visitor
  let current: Visitor
  return {
    get current() {
      return current
    },
    method(name, implementation) {
      const method = runtime.wrap(name, (...args) => {
        const visitor = expected
        expected = undefined
        const before = current
        current = visitor
        try {
          return implementation(visitor, ...args)
        } finally {
          current = before
        }
      })
      methods.add(method)
      return method
    },
    isMethod: (callee) => methods.has(callee),
    admit(plugin, callee, call) {
      // One that does not ask would leave it to the next that does.
      if (!methods.has(callee)) return call()
      expected = plugin
      try {
        return call()
      } finally {
        expected = undefined
      }
    },
  }
}

/** Bytes that a copy or a text may take that is made for this one. */
export function bytesFor(visitor: Visitor, limit: number): number {
  return visitor === undefined ? limit : Math.min(limit, visitorBytes)
}

/** How many there may be at most when this one adds another. */
export function roomFor(visitor: Visitor, limit: number): number {
  return visitor === undefined ? limit : Math.floor(limit * visitorShare)
}

/**
 * What of a plugin's things others have made through its instance: each of those is its maker's to change and to
 * remove, and the plugin's own are nobody else's.
 */
export interface Makers<K> {
  /** Throws when there is one of this key that the visitor has not made. */
  check(visitor: Visitor, key: K, exists: boolean): void
  made(visitor: Visitor, key: K): void
  forget(key: K): void
  clear(): void
}

export function createMakers<K>(what: string): Makers<K> {
  const makers = new Map<K, string>()
  return {
    check(visitor, key, exists) {
      if (visitor === undefined || !exists || makers.get(key) === visitor) return
      throw new Error(`another plugin cannot change the ${what} '${String(key)}', which it has not made`)
    },
    made(visitor, key) {
      if (visitor === undefined) makers.delete(key)
      else makers.set(key, visitor)
    },
    forget: (key) => void makers.delete(key),
    clear: () => makers.clear(),
  }
}
