import { toBytes, toUnicode } from './bytes.ts'
import { guardConcatenations } from './concat-guard.ts'
import { auxiliary, lua, objects, opcodes, states, tags, whileCompiling } from './engine.ts'
import { describeException, errorText, exceptionText, protectedText } from './error-value.ts'
import type { LuaState, Prototype, RawFunction } from './fengari-types.ts'
import { createInterrupt } from './interrupt.ts'
import { openLibraries } from './library/open-libraries.ts'
import { createReferences } from './lua-reference.ts'
import {
  type HostFunction,
  LuaError,
  type LuaFunction,
  type LuaRuntime,
  type LuaTable,
  type LuaValue,
} from './lua-value.ts'
import { numberText } from './number-text.ts'
import { createProvidedFunctions } from './provided-functions.ts'
import { raise } from './raw-function.ts'
import { nameOfShared } from './shared-functions.ts'
import { defaultOutsideLimit, defaultStringLimit, limitStrings } from './string-limit.ts'
import { joinTracebacks, type Traceback, takeTraceback } from './traceback.ts'

export interface LuaRuntimeOptions {
  /** Gets what `print` was given, joined by tabs. */
  print(text: string): void
  /** Milliseconds since the Unix epoch, for `os.time` and `os.date`. */
  now(): number
  /** Asked about every millisecond of Lua; a text stops the running entry with that message. */
  checkInterrupt?(): string | undefined
  /** Longest string in bytes. */
  stringLimitBytes?: number
  /** Bytes outside the heap that the worker may have, of all Lua states in it. */
  outsideLimitBytes?: number
  /** Called when a longer string was asked for, or all together take too much. */
  stringLimitMet?: (of: 'one' | 'all') => void
}

const byteOrderMark = [0xef, 0xbb, 0xbf]
const hash = 0x23
const newline = 0x0a
const textOnly = toBytes('t')
/** Slots on the Lua stack besides the arguments of a call. */
const spareSlots = 20

export function createLuaRuntime(options: LuaRuntimeOptions): LuaRuntime {
  const main = auxiliary.luaL_newstate()
  /** The thread that runs now: calls from within a host function belong to the coroutine that called it. */
  let running = main
  const stringLimit = options.stringLimitBytes ?? defaultStringLimit
  const references = createReferences(main, stringLimit)
  const names = new WeakMap<RawFunction, string>()
  const chunkNames = new Set<string>()
  let trace: Traceback | undefined
  /** Of a coroutine whose error is on its way through the thread that resumed it. */
  let innerTrace: Traceback | undefined

  const tracebackOf = (L: LuaState, level: number): Traceback =>
    takeTraceback(L, level, (implementation) => names.get(implementation) ?? nameOfShared(implementation))
  const takeTrace = (L: LuaState, level: number): Traceback => {
    const taken = joinTracebacks(innerTrace, tracebackOf(L, level))
    trace = taken
    innerTrace = undefined
    return taken
  }
  const interrupt = createInterrupt(
    () => options.checkInterrupt?.(),
    (L) => takeTrace(L, 0),
  )
  limitStrings(main, {
    limit: stringLimit,
    outsideLimit: options.outsideLimitBytes ?? defaultOutsideLimit,
    told: options.stringLimitMet,
  })
  lua.lua_atnativeerror(main, describeException)
  openLibraries(main, {
    print: options.print,
    now: options.now,
    interrupt,
    stringLimit,
    threads: {
      enter(thread) {
        running = thread
      },
      failed(thread) {
        innerTrace = joinTracebacks(innerTrace, tracebackOf(thread, 0))
      },
      caught() {
        innerTrace = undefined
      },
    },
  })
  interrupt.install(main)

  const push = (L: LuaState, value: LuaValue): void => {
    const tagged = references.toTagged(value)
    lua.lua_pushnil(L)
    const slot = L.stack[L.top - 1]
    if (slot === undefined) throw new Error('the Lua stack has no top')
    slot.type = tagged.type
    slot.value = tagged.value
  }

  const take = (L: LuaState, first: number): LuaValue[] => {
    const values: LuaValue[] = []
    const count = lua.lua_gettop(L)
    for (let slot = L.top - count + first - 1; slot < L.top; slot += 1) {
      values.push(references.fromTagged(L.stack[slot] ?? new objects.TValue(tags.nil, null)))
    }
    return values
  }

  const messageHandler: RawFunction = (L) => {
    takeTrace(L, 1)
    return 1
  }

  /** The error value at the top of the stack as an exception. */
  function luaError(L: LuaState, found: Traceback | undefined): LuaError {
    const message = errorText(L)
    const [, file = '', line] = /^([^\n:]+):(\d+): /.exec(message) ?? []
    // `error(message, 2)` blames the caller; but not every text that looks like a position is one.
    if (chunkNames.has(file)) return new LuaError(message, found?.text, file, Number(line))
    return new LuaError(message, found?.text, found?.file, found?.line)
  }

  /** Runs what `prepare` pushed: a function and its arguments, whose number it answers. */
  function enter(slots: number, prepare: (L: LuaState) => number): LuaValue[] {
    const L = running
    const top = lua.lua_gettop(L)
    if (!lua.lua_checkstack(L, slots + spareSlots)) throw new LuaError('stack overflow')
    interrupt.enter()
    try {
      lua.lua_pushcfunction(L, messageHandler)
      const argumentCount = prepare(L)
      trace = undefined
      innerTrace = undefined
      const status = lua.lua_pcall(L, argumentCount, lua.LUA_MULTRET, top + 1)
      if (status !== lua.LUA_OK) throw luaError(L, trace)
      return take(L, top + 2)
    } finally {
      running = L
      lua.lua_settop(L, top)
      interrupt.leave()
    }
  }

  function call(callee: LuaFunction, ...values: LuaValue[]): LuaValue[] {
    return enter(values.length, (L) => {
      push(L, callee)
      for (const value of values) push(L, value)
      return values.length
    })
  }

  function run(source: Uint8Array, chunkName: string): LuaValue[] {
    chunkNames.add(chunkName)
    return enter(0, (L) => {
      const text = withoutPreamble(source)
      const status = whileCompiling(() =>
        auxiliary.luaL_loadbufferx(L, text, text.length, toBytes(`@${chunkName}`), textOnly),
      )
      if (status !== lua.LUA_OK) throw luaError(L, undefined)
      const closure = L.stack[L.top - 1]?.value as { p: Prototype }
      guardConcatenations(closure.p, { thread: () => running, stringLimit })
      return 0
    })
  }

  function wrap(name: string, implementation: HostFunction): LuaFunction {
    const raw: RawFunction = (L) => {
      const outer = running
      running = L
      let results: LuaValue | readonly LuaValue[]
      try {
        results = implementation(...take(L, 1))
      } catch (error) {
        interrupt.rethrow(L)
        // An error that came out of Lua says already where it happened.
        if (!(error instanceof LuaError)) return raise(L, exceptionText(error))
        lua.lua_pushstring(L, toBytes(error.message))
        return lua.lua_error(L)
      } finally {
        running = outer
      }
      interrupt.rethrow(L)
      const list = Array.isArray(results) ? (results as readonly LuaValue[]) : [results as LuaValue]
      if (!lua.lua_checkstack(L, list.length + spareSlots)) return raise(L, 'too many results')
      try {
        for (const value of list) push(L, value)
      } catch (error) {
        return raise(L, exceptionText(error))
      }
      return list.length
    }
    names.set(raw, name)
    return references.fromTagged(new objects.TValue(tags.jsFunction, raw)) as LuaFunction
  }

  const { provide, settleTable } = createProvidedFunctions(main, references)

  function toText(value: LuaValue): string {
    if (typeof value === 'number') return numberText(value)
    if (value instanceof Uint8Array) return toUnicode(value)
    if (typeof value !== 'object') return value === undefined ? 'nil' : String(value)
    const L = running
    const top = lua.lua_gettop(L)
    if (!lua.lua_checkstack(L, spareSlots)) return value.kind
    interrupt.enter()
    try {
      push(L, value)
      return protectedText(L) ?? value.kind
    } finally {
      lua.lua_settop(L, top)
      interrupt.leave()
    }
  }

  lua.lua_pushglobaltable(main)
  const [globals] = take(main, 1)
  lua.lua_pop(main, 1)
  return {
    globals: globals as LuaTable,
    run,
    call,
    newTable: references.newTable,
    wrap,
    provide,
    settleTable,
    apart: interrupt.apart,
    get selectsMethod() {
      const caller = running.ci.previous
      if (caller === null || (caller.callstatus & states.CIST_LUA) === 0) return false
      return caller.l_code[caller.l_savedpc - 1]?.opcode === opcodes.OpCodesI.OP_SELF
    },
    toText,
  }
}

/** Without a byte order mark, and without a first line for a shell; the line numbers stay. */
function withoutPreamble(source: Uint8Array): Uint8Array {
  const text = byteOrderMark.every((byte, index) => source[index] === byte) ? source.subarray(3) : source
  if (text[0] !== hash) return text
  const end = text.indexOf(newline)
  return end < 0 ? new Uint8Array() : text.subarray(end)
}
