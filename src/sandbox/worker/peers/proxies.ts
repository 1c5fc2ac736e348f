import { lazily } from '../../../base/lazily.ts'
import type { Reference } from '../../../schema/worker/plugin-call.ts'
import {
  type HostFunction,
  type LuaFunction,
  type LuaRuntime,
  type LuaTable,
  type LuaValue,
} from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'
import { toBytes } from '../lua/text/bytes.ts'
import { operators, type PluginOperation } from '../../../schema/worker/plugin-call-limits.ts'

/** Does something with a thing of another plugin, and waits for what it answers. */
export type CallOut = (
  reference: Reference,
  operation: PluginOperation,
  args: readonly LuaValue[],
) => Steps<LuaValue[]>

const isSame = (one: LuaValue, other: LuaValue): boolean =>
  one === other ||
  (one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0)

/**
 * What Lua gets for a thing of another plugin: a function, or an empty table whose metatable asks the owner.
 * Nothing is remembered of what it answered. A method that is called as one is looked up and called in one go.
 */
export function createProxies(
  runtime: LuaRuntime,
  callOut: CallOut,
  referenceOf: (value: LuaTable | LuaFunction) => Reference | undefined,
): (reference: Reference) => LuaTable | LuaFunction {
  const known = (value: LuaValue): Reference | undefined =>
    typeof value === 'object' && !(value instanceof Uint8Array) ? referenceOf(value) : undefined
  const referred = (value: LuaValue): Reference => {
    const reference = known(value)
    if (reference === undefined) throw new Error('not an object of another plugin')
    return reference
  }

  const metatable = lazily(() => {
    const made = runtime.newTable()
    const method = (event: string, implementation: HostFunction): void =>
      made.set(`__${event}`, runtime.wrap(event, implementation))
    /** What Lua takes as the value of an operator: the first result. */
    function* first(
      reference: Reference,
      operation: PluginOperation,
      args: readonly LuaValue[],
    ): Steps<LuaValue> {
      return (yield* callOut(reference, operation, args))[0]
    }

    made.set('__metatable', toBytes('an object of another plugin'))
    made.set('__name', toBytes('object of another plugin'))
    /** What was called as a method last: in a loop it is made once. Lua calls it at once and never sees it. */
    let selected: { reference: Reference; key: LuaValue; callee: LuaFunction } | undefined
    method('index', (self, key) => {
      const reference = referred(self)
      if (!runtime.selectsMethod) return first(reference, 'index', [key])
      if (selected?.reference !== reference || !isSame(selected.key, key)) {
        const callee = runtime.wrap(`method of ${reference.plugin}`, (...args) =>
          callOut(reference, 'invoke', [key, ...args]),
        )
        selected = { reference, key, callee }
      }
      return selected.callee
    })
    method('newindex', function* (self, key, value) {
      yield* callOut(referred(self), 'newindex', [key, value])
      return undefined
    })
    method('call', (self, ...args) => callOut(referred(self), 'call', args))
    method('len', (self) => first(referred(self), 'len', []))
    method('tostring', function* (self) {
      const reference = referred(self)
      try {
        return yield* first(reference, 'tostring', [])
      } catch {
        // A text for a log has to be had of everything.
        return toBytes(`object of ${reference.plugin}, which does not answer`)
      }
    })
    method('pairs', function* (self) {
      const flat = yield* callOut(referred(self), 'entries', [])
      let at = 0
      const next = runtime.wrap('next', () => {
        at += 2
        return [flat[at - 2], flat[at - 1]]
      })
      return [next, self, undefined]
    })
    for (const operator of operators)
      method(operator, (a, b) => first(known(a) ?? referred(b), operator, [a, b]))
    return made
  })

  return (reference) => {
    if (reference.type === 'function')
      return runtime.wrap(`function of ${reference.plugin}`, (...args) => callOut(reference, 'call', args))
    const table = runtime.newTable()
    table.metatable = metatable()
    return table
  }
}
