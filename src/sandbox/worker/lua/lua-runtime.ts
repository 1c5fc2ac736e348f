import { toBytes, toUnicode } from './bytes.ts'
import { guardConcatenations } from './concat-guard.ts'
import { auxiliary, lua, objects, opcodes, states, tags, whileCompiling } from './engine.ts'
import { describeException, errorText, protectedText } from './error-value.ts'
import type { LuaState, Prototype, RawFunction } from './fengari-types.ts'
import { createHostFunctions, type Execution, spareSlots } from './host-functions.ts'
import { createInterrupt } from './interrupt.ts'
import { openLibraries } from './library/open-libraries.ts'
import { createReferences } from './lua-reference.ts'
import {
  type Activation,
  LuaError,
  type LuaFunction,
  type LuaRuntime,
  type LuaTable,
  type LuaValue,
} from './lua-value.ts'
import { numberText } from './number-text.ts'
import { createPreemption } from './preemption.ts'
import { createProvidedFunctions } from './provided-functions.ts'
import { nameOfShared } from './shared-functions.ts'
import type { Steps, Waiting } from './steps.ts'
import { defaultOutsideLimit, defaultStringLimit, limitStrings } from './string-limit.ts'
import { joinTracebacks, type Traceback, takeTraceback } from './traceback.ts'

export interface LuaRuntimeOptions {
  /** Gets what `print` was given, joined by tabs. */
  print(text: string): void
  /** Milliseconds since the Unix epoch, for `os.time` and `os.date`. */
  now(): number
  /** Asked about every millisecond of Lua; a text stops the running entry with that message. */
  checkInterrupt?(): string | undefined
  /** Called now and then in long work on tables that nothing interrupts: it comes to an end, and is no hang. */
  working?(): void
  /** Asked as often: whether it is somebody else's turn, so that what can be set aside is. */
  sliceIsOver?(): boolean
  /** Asked after each function of the host: what to wait for before Lua goes on, where it can be set aside. */
  pause?(): Waiting | undefined
  /** Runs `task`, which others do for this plugin, off its clock. */
  excuse?(task: () => void): void
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

export function createLuaRuntime(options: LuaRuntimeOptions): LuaRuntime {
  /** Runs nothing; the threads that do are made from it. */
  const main = auxiliary.luaL_newstate()
  /** Threads for entries from JavaScript that are free. */
  const free: LuaState[] = []
  /** All of those, also the ones in use: for Lua none of them is a coroutine. */
  const entryThreads = new WeakSet<LuaState>()
  const execution: Execution = { thread: undefined, trace: undefined, innerTrace: undefined }
  const stringLimit = options.stringLimitBytes ?? defaultStringLimit
  const excuse = options.excuse ?? ((task: () => void) => task())
  const references = createReferences(main, stringLimit, options.working ?? (() => undefined))
  const names = new WeakMap<RawFunction, string>()
  const chunkNames = new Set<string>()

  const tracebackOf = (L: LuaState, level: number): Traceback =>
    takeTraceback(L, level, (implementation) => names.get(implementation) ?? nameOfShared(implementation))
  const takeTrace = (L: LuaState, level: number): Traceback => {
    const taken = joinTracebacks(execution.innerTrace, tracebackOf(L, level))
    execution.trace = taken
    execution.innerTrace = undefined
    return taken
  }
  const preemption = createPreemption(options.sliceIsOver ?? (() => false))
  const interrupt = createInterrupt(
    () => options.checkInterrupt?.(),
    (L) => takeTrace(L, 0),
    preemption,
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
    preemption,
    stringLimit,
    threads: {
      isEntry: (thread) => entryThreads.has(thread),
      enter(thread) {
        execution.thread = thread
      },
      failed(thread) {
        execution.innerTrace = joinTracebacks(execution.innerTrace, tracebackOf(thread, 0))
      },
      caught() {
        execution.innerTrace = undefined
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

  /** A thread on which nothing is. It has to be given back, unless it has died. */
  function takeThread(): LuaState {
    const known = free.pop()
    if (known !== undefined) return known
    const thread = lua.lua_newthread(main)
    lua.lua_pop(main, 1)
    entryThreads.add(thread)
    return thread
  }

  /** Runs what `prepare` pushed: a function and its arguments, whose number it answers. */
  function enter(slots: number, prepare: (L: LuaState) => number): LuaValue[] {
    const outer = execution.thread
    const L = outer ?? takeThread()
    const top = lua.lua_gettop(L)
    if (!lua.lua_checkstack(L, slots + spareSlots)) throw new LuaError('stack overflow')
    interrupt.enter()
    execution.thread = L
    try {
      lua.lua_pushcfunction(L, messageHandler)
      const argumentCount = prepare(L)
      execution.trace = undefined
      execution.innerTrace = undefined
      const status = lua.lua_pcall(L, argumentCount, lua.LUA_MULTRET, top + 1)
      if (status !== lua.LUA_OK) throw luaError(L, execution.trace)
      return take(L, top + 2)
    } finally {
      execution.thread = outer
      lua.lua_settop(L, top)
      interrupt.leave()
      if (outer === undefined) free.push(L)
    }
  }

  function call(callee: LuaFunction, ...values: LuaValue[]): LuaValue[] {
    return enter(values.length, (L) => {
      push(L, callee)
      for (const value of values) push(L, value)
      return values.length
    })
  }

  /** The error with which a thread has died. It is not used again. */
  function deathOf(L: LuaState): LuaError {
    const other = takeThread()
    lua.lua_xmove(L, other, 1)
    // Its stack ends at the error, and to look at what is on it takes some slots.
    lua.lua_checkstack(L, spareSlots)
    const found = execution.trace ?? joinTracebacks(execution.innerTrace, tracebackOf(L, 0))
    execution.thread = other
    try {
      return luaError(other, found)
    } finally {
      lua.lua_settop(other, 0)
      free.push(other)
    }
  }

  function activate(callee: LuaFunction, ...values: LuaValue[]): Activation {
    const L = takeThread()
    const scope = { pending: undefined, depth: 1 }
    let argumentCount = values.length
    if (!lua.lua_checkstack(L, argumentCount + spareSlots)) throw new LuaError('stack overflow')
    push(L, callee)
    for (const value of values) push(L, value)

    function resume(): ReturnType<Activation['resume']> {
      const outer = execution.thread
      execution.thread = L
      execution.trace = undefined
      execution.innerTrace = undefined
      try {
        const status = lua.lua_resume(L, null, argumentCount)
        argumentCount = 0
        if (status === lua.LUA_YIELD) return { done: false, aside: preemption.take() ?? 'slice' }
        if (status !== lua.LUA_OK) throw deathOf(L)
        const results = take(L, 1)
        lua.lua_settop(L, 0)
        free.push(L)
        return { done: true, values: results }
      } finally {
        execution.thread = outer
      }
    }
    return { resume: () => interrupt.within(scope, resume) }
  }

  function complete<T>(steps: Steps<T>): T {
    let step = steps.next()
    while (step.done !== true) {
      const { value } = step
      let answer: unknown
      try {
        if (value.kind === 'call') answer = call(value.callee, ...value.args)
        else if (value.kind === 'wait') answer = value.now()
      } catch (error) {
        step = steps.throw(error)
        continue
      }
      step = steps.next(answer)
    }
    return step.value
  }

  function compile(source: Uint8Array, chunkName: string): LuaFunction {
    chunkNames.add(chunkName)
    const text = withoutPreamble(source)
    const status = whileCompiling(() =>
      auxiliary.luaL_loadbufferx(main, text, text.length, toBytes(`@${chunkName}`), textOnly),
    )
    try {
      if (status !== lua.LUA_OK) throw luaError(main, undefined)
      const slot = main.stack[main.top - 1]
      if (slot === undefined) throw new Error('nothing was compiled')
      guardConcatenations((slot.value as { p: Prototype }).p, {
        thread: () => execution.thread ?? main,
        stringLimit,
      })
      return references.fromTagged(slot) as LuaFunction
    } finally {
      lua.lua_settop(main, 0)
    }
  }

  const { wrap, wrapSteps } = createHostFunctions({
    ...{ references, interrupt, preemption, execution, push, take, luaError, messageHandler, excuse },
    pause: options.pause,
    named: (raw, name) => void names.set(raw, name),
  })
  const { provide, provideLibrary } = createProvidedFunctions(main, references)

  function toText(value: LuaValue): string {
    if (typeof value === 'number') return numberText(value)
    if (value instanceof Uint8Array) return toUnicode(value)
    if (typeof value !== 'object') return value === undefined ? 'nil' : String(value)
    const outer = execution.thread
    const L = outer ?? takeThread()
    const top = lua.lua_gettop(L)
    if (!lua.lua_checkstack(L, spareSlots)) return value.kind
    interrupt.enter()
    execution.thread = L
    try {
      push(L, value)
      return protectedText(L) ?? value.kind
    } finally {
      execution.thread = outer
      lua.lua_settop(L, top)
      interrupt.leave()
      if (outer === undefined) free.push(L)
    }
  }

  const run = (source: Uint8Array, chunkName: string): LuaValue[] => call(compile(source, chunkName))

  lua.lua_pushglobaltable(main)
  const [globals] = take(main, 1)
  lua.lua_pop(main, 1)
  return {
    globals: globals as LuaTable,
    run,
    compile,
    call,
    complete,
    activate,
    get inside() {
      return execution.thread !== undefined
    },
    newTable: references.newTable,
    wrap,
    provide,
    providedAs: (callee) => nameOfShared(references.toTagged(callee).value as RawFunction),
    provideLibrary,
    wrapSteps,
    apart: (task) => interrupt.within({ pending: undefined, depth: 0 }, task),
    get selectsMethod() {
      const caller = execution.thread?.ci.previous ?? null
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
