import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { callLua, type Steps } from '../lua/steps.ts'
import { isFunction, isTable, typeName } from '../lua/arguments.ts'
import { operators, type PluginOperation } from '../../../schema/worker/plugin-call-limits.ts'
import { flatEntries, type Operations } from './operations.ts'
import type { Privacy } from './privacy.ts'
import { type ForeignCallers, foreignCallerBytes } from '../limits/foreign-callers.ts'

/** Arguments that a method of the host looks at; none has so many. */
const mostArguments = 8

/** What another plugin wants of a thing of this one. */
export interface ForeignCall {
  /** Its full id. */
  caller: string
  target: LuaValue
  operation: PluginOperation
  args: readonly LuaValue[]
  /** Bytes that the arguments took on their way. */
  bytes: number
}

/** What a call gives, and what of it does not go to another plugin. */
export interface Served {
  values: LuaValue[]
  withheld?: (value: LuaValue) => boolean
}

export interface ServedCallsSettings {
  runtime: LuaRuntime
  operations: Operations
  privacy: Privacy
  foreignCallers: ForeignCallers
  /** Whether other plugins hold it, as a thing of this one. */
  isHandedOver(value: LuaTable | LuaFunction): boolean
  /** A copy of an object of another plugin; undefined for what is none. Throws when it takes more than `most` bytes. */
  copyOf(value: LuaTable, most: number): Steps<LuaTable | undefined>
}

export interface ServedCalls {
  /**
   * What most calls are of: a method in Lua that the object itself has. It is called with the arguments as they are; undefined:
   * there is more to do.
   */
  ownMethod(target: LuaValue, key: LuaValue): LuaFunction | undefined
  /** Does what another plugin wants of a thing of this one. Throws what Lua raises. */
  serve(foreignCall: ForeignCall): Steps<Served>
}

export function createServedCalls(settings: ServedCallsSettings): ServedCalls {
  const { runtime, operations, privacy, foreignCallers, isHandedOver, copyOf } = settings

  function* operate(name: string, ...args: LuaValue[]): Steps<LuaValue[]> {
    const operation = operations().get(name)
    if (operation === undefined) throw new Error(`there is no operation '${name}'`)
    return yield* callLua(operation, ...args)
  }

  /**
   * The methods of the host look into their arguments: in a proxy they see nothing, so they get a copy. And what
   * is no Lua must not see the plugin's own objects, which are not for another plugin to have encoded, sent or shown,
   * nor be given the host's methods, which it would call as by the plugin itself.
   */
  function assertForeign(args: readonly LuaValue[]): void {
    const seen = new Set<LuaTable>()
    const isOwn = (value: LuaValue): boolean => {
      if (isFunction(value)) return value.native && isHandedOver(value)
      if (!isTable(value) || seen.has(value)) return false
      seen.add(value)
      return isHandedOver(value) || value.entries().some((pair) => pair.some(isOwn))
    }
    if (args.some(isOwn)) throw new Error('its own objects cannot be handed to its methods of the host')
  }

  /** The arguments for a method of the host. */
  function* visible(args: readonly LuaValue[]): Steps<LuaValue[]> {
    const given: LuaValue[] = []
    for (const value of args.slice(0, mostArguments))
      given.push(isTable(value) ? ((yield* copyOf(value, foreignCallerBytes)) ?? value) : value)
    return given
  }

  function* call(
    { caller, bytes }: ForeignCall,
    callee: LuaFunction,
    args: readonly LuaValue[],
    target?: LuaValue,
  ): Steps<LuaValue[]> {
    if (!callee.native) return yield* callLua(callee, ...args)
    if (bytes > foreignCallerBytes)
      throw new Error(
        `the arguments take ${bytes} bytes; through another plugin at most ${foreignCallerBytes} go`,
      )
    const [first, ...others] = args
    const given = privacy.isHostMethod(callee) ? yield* visible(others) : others
    const isSelf = foreignCallers.isMethod(callee) || (target !== undefined && first === target)
    assertForeign(isSelf ? given : [first, ...given])
    return yield* foreignCallers.admit(caller, callee, callLua(callee, first, ...given))
  }

  function* read(target: LuaValue, key: LuaValue): Steps<LuaValue> {
    if (privacy.hides(target, key)) return undefined
    // Most fields are in the table itself. Lua is asked only where a metatable may have more.
    const own = isTable(target) && key instanceof Uint8Array ? target.get(key) : undefined
    const [value] = own === undefined ? yield* operate('index', target, key) : [own]
    return privacy.withheld(value) ? undefined : value
  }

  function ownMethod(target: LuaValue, key: LuaValue): LuaFunction | undefined {
    if (!isTable(target) || !(key instanceof Uint8Array) || privacy.hides(target, key)) return undefined
    const own = target.get(key)
    return isFunction(own) && !own.native ? own : undefined
  }

  function* invoke(foreignCall: ForeignCall): Steps<LuaValue[]> {
    const { target } = foreignCall
    const [key, ...args] = foreignCall.args
    const callee = yield* read(target, key)
    if (isFunction(callee)) return yield* call(foreignCall, callee, args, target)
    if (isTable(callee)) return yield* operate('call', callee, ...args)
    throw new Error(`attempt to call a ${typeName(callee)} value (method '${runtime.toText(key)}')`)
  }

  function* entries(target: LuaValue): Steps<LuaValue[]> {
    const flat = flatEntries(yield* operate('entries', target))
    const shown: LuaValue[] = []
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const pair = [flat[index], flat[index + 1]]
      if (!privacy.hides(target, pair[0]) && !pair.some(privacy.withheld)) shown.push(...pair)
    }
    return shown
  }

  function* serve(foreignCall: ForeignCall): Steps<Served> {
    const { target, operation, args } = foreignCall
    const [key] = args
    switch (operation) {
      case 'call':
        return {
          values: yield* isFunction(target)
            ? call(foreignCall, target, args)
            : operate('call', target, ...args),
        }
      case 'invoke':
        return { values: yield* invoke(foreignCall) }
      case 'index':
        return { values: [yield* read(target, key)], withheld: privacy.withheld }
      case 'entries':
        return { values: yield* entries(target), withheld: privacy.withheld }
      case 'newindex':
        yield* call(foreignCall, privacy.writerOf(target, key), [target, ...args], target)
        return { values: [] }
      default:
        // An operator has come with both of its operands.
        return (operators as readonly string[]).includes(operation)
          ? { values: yield* operate(operation, ...args) }
          : { values: yield* operate(operation, target, ...args) }
    }
  }

  return { ownMethod, serve }
}
