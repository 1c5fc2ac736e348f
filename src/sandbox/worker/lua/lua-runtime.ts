import { jsonText } from '../../../base/text/json.ts'
import { createByteBudget } from '../budgets/byte-budget.ts'
import { toBytes } from './text/bytes.ts'
import { guardConcatenations } from './concat-guard.ts'
import { auxiliary, lua, objects, opcodes, states, tags, whileCompiling } from './engine/engine.ts'
import { createEntries } from './entries.ts'
import { describeException, errorText, unprintableTable } from './error-value.ts'
import type { LuaState, Prototype, RawFunction, TaggedValue } from './engine/fengari-types.ts'
import { createHostFunctions, type Execution } from './host-functions.ts'
import { createInterrupt, usualInstructionsPerCheck } from './interrupt.ts'
import { toJson } from './json-values.ts'
import { openLibraries } from './library/open-libraries.ts'
import { createReferences } from './lua-reference.ts'
import { LuaError, type LuaFunction, type LuaRuntime, type LuaTable, type LuaValue } from './lua-value.ts'
import { createPreemption } from './preemption.ts'
import { createProvidedFunctions } from './provided-functions.ts'
import { nameOfShared } from './shared-functions.ts'
import { advanceWith, type Steps, type Waiting } from './steps.ts'
import { defaultOutsideLimit, defaultStringLimit, limitStrings } from './string-limit.ts'
import { joinTracebacks, type Traceback, takeTraceback } from './traceback.ts'

/** Bytes of a table that was raised, up to which all of it is told. */
const contentBytes = 1_000

export interface LuaRuntimeOptions {
  /** Gets what `print` was given, joined by tabs. */
  print(text: string): void
  /** Milliseconds since the Unix epoch, for `os.time` and `os.date`. */
  now(): number
  /** Milliseconds of a clock that does not jump; without it `now` counts. */
  monotonic?(): number
  /** Asked about every millisecond of Lua; a text stops the running entry with that message. */
  checkInterrupt?(): string | undefined
  /** Instructions between two of those questions; tests set Lua aside wherever it is. */
  instructionsPerCheck?: number
  /** Called now and then in long work on tables that nothing interrupts: it comes to an end, and is no hang. */
  working?(): void
  /** Asked as often: whether it is somebody else's turn, so that what can be set aside is. */
  sliceIsOver?(): boolean
  /** Asked after each function of the host: what to wait for before Lua goes on, where it can be set aside. */
  pause?(): Waiting | undefined
  /** Runs `task`, which others do for this plugin, off its clock. */
  runUncharged?(task: () => void): void
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
  const execution: Execution = { thread: undefined, trace: undefined, innerTrace: undefined }
  const stringLimit = options.stringLimitBytes ?? defaultStringLimit
  const runUncharged = options.runUncharged ?? ((task: () => void) => task())
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
    options.monotonic ?? options.now,
    options.instructionsPerCheck ?? usualInstructionsPerCheck,
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

  const apart = <T>(task: () => T): T => interrupt.within({ pending: undefined, depth: 0 }, task)

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

  /** What a table that was raised has in it is all that it says. */
  function withContent(message: string, value: TaggedValue | undefined): string {
    if (value === undefined || message !== unprintableTable) return message
    try {
      const content = jsonText(toJson(references.fromTagged(value), createByteBudget(contentBytes)) ?? {})
      return content === '{}' ? message : `${message} ${content}`
    } catch {
      return message
    }
  }

  /** The error value at the top of the stack as an exception. */
  function luaError(L: LuaState, found: Traceback | undefined): LuaError {
    const message = withContent(errorText(L), L.stack[L.top - 1])
    const [, file = '', line] = /^([^\n:]+):(\d+): /.exec(message) ?? []
    // `error(message, 2)` blames the caller; but not every text that looks like a position is one.
    if (chunkNames.has(file)) return new LuaError(message, found?.text, file, Number(line))
    return new LuaError(message, found?.text, found?.file, found?.line)
  }

  const { entryThreads, call, activate, toText } = createEntries(main, {
    ...{ interrupt, preemption, execution, push, take, luaError, messageHandler, tracebackOf },
  })

  function complete<T>(steps: Steps<T>): T {
    let step = steps.next()
    while (step.done !== true) {
      const { value } = step
      if (value.kind === 'call') step = advanceWith(steps, () => call(value.callee, ...value.args))
      else if (value.kind === 'wait') step = advanceWith(steps, value.now)
      else step = steps.next()
    }
    return step.value
  }

  function compile(source: Uint8Array, chunkName: string): LuaFunction {
    chunkNames.add(chunkName)
    const text = withoutPreamble(source)
    const load = (): number =>
      auxiliary.luaL_loadbufferx(main, text, text.length, toBytes(`@${chunkName}`), textOnly)
    const status = whileCompiling(() => (execution.thread === undefined ? apart(load) : load()))
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

  const { wrap } = createHostFunctions({
    ...{ references, interrupt, preemption, execution, push, take, luaError, messageHandler, runUncharged },
    pause: options.pause,
    named: (raw, name) => void names.set(raw, name),
  })
  const { provideLibrary } = createProvidedFunctions(main, references)

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
    providedAs: (callee) => nameOfShared(references.toTagged(callee).value as RawFunction),
    provideLibrary,
    apart,
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
