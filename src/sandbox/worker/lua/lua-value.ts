import type { SuspendReason } from './preemption.ts'
import type { Steps } from './steps.ts'

/**
 * Lua values as the plugin API sees them. Strings are bytes (`Uint8Array`), exact both ways; numbers are
 * doubles; nil is `undefined`. Tables and functions stay in Lua and are held by reference; fengari's objects
 * are JavaScript objects, so a reference needs no release.
 */
export type LuaValue = undefined | boolean | number | Uint8Array | LuaTable | LuaFunction

/** Anything but nil; setting NaN throws `TypeError`. */
export type TableKey = string | Exclude<LuaValue, undefined>

export interface LuaTable {
  readonly kind: 'table'
  /** Raw access. A key that is a JavaScript string means its UTF-8 bytes. */
  get(key: TableKey): LuaValue
  set(key: TableKey, value: LuaValue): void
  /** Border of the array part, as `#` without metamethods. */
  readonly length: number
  /** All pairs, raw, in `next` order. */
  entries(): [key: LuaValue, value: LuaValue][]
  /** The same with the text of each string in place of its bytes. */
  textEntries(): [key: LuaValue | string, value: LuaValue | string][]
  metatable: LuaTable | undefined
  /**
   * Gets `(table, key, value)` in place of each write from Lua, also to a field that is there: a `__newindex` for all
   * fields. It writes with `set`, so that the table looks to Lua as any other.
   */
  writer: LuaFunction | undefined
}

export interface LuaFunction {
  readonly kind: 'function'
  /** Whether it is written in JavaScript: the host's, or of Lua's own libraries. */
  readonly native: boolean
}

export type Results = LuaValue | readonly LuaValue[]

/**
 * What a JavaScript function offers Lua: results, or the steps to them, in which it has Lua called, or waits, and can be set
 * aside. A thrown value reaches Lua as an error with its message, a string.
 */
export type HostFunction = (...args: LuaValue[]) => Results | Steps<Results>

export function isSteps(answer: Results | Steps<Results>): answer is Steps<Results> {
  // Bytes are asked for first, as a look for a name takes longer in them.
  return typeof answer === 'object' && !(answer instanceof Uint8Array) && 'next' in answer
}

/** A call into Lua that goes on in slices. Nothing else of its state may run while it has a slice. */
export interface Activation {
  /** Runs until it ends or is set aside. Throws the `LuaError` with which it ends. */
  resume(): { done: true; values: LuaValue[] } | { done: false; suspended: SuspendReason }
}

/** What went wrong in Lua. `message` has the position as Lua writes it (`init.lua:12: …`). */
export class LuaError extends Error {
  override readonly name = 'LuaError'
  readonly traceback: string
  /** Position in the plugin's own source, where known. */
  readonly file: string | undefined
  readonly line: number | undefined

  constructor(message: string, traceback = '', file?: string, line?: number) {
    super(message)
    this.traceback = traceback
    this.file = file
    this.line = line
  }
}

/** By their keys: the name of a function as tracebacks have it, or a number. */
export type LibraryFields = Readonly<Record<string, string | number>>

/** One Lua state with the allowed libraries, and nothing of another's. */
export interface LuaRuntime {
  /** The plugin's own `_G`. */
  readonly globals: LuaTable
  /** Compiles and runs a chunk, protected. Text only, never bytecode. Throws `LuaError`. */
  run(source: Uint8Array, chunkName: string): LuaValue[]
  /** Compiles a chunk. Throws `LuaError`. */
  compile(source: Uint8Array, chunkName: string): LuaFunction
  /** Calls a Lua function, protected, to its end. Throws `LuaError`. */
  call(callee: LuaFunction, ...args: LuaValue[]): LuaValue[]
  /** Does all of it on the spot. */
  complete<T>(steps: Steps<T>): T
  /** Begins a call that can be set aside, on a thread of its own. */
  activate(callee: LuaFunction, ...args: LuaValue[]): Activation
  /** Whether Lua is on the stack: what is called now is called from within. */
  readonly inside: boolean
  /** `fill`: sets the fields, once somebody looks at them or adds one. */
  newTable(fill?: (table: LuaTable) => void): LuaTable
  /** Makes a function that Lua can call; `name` appears in tracebacks. */
  wrap(name: string, implementation: HostFunction): LuaFunction
  /** The name under which this function was provided, in whatever table it is now; undefined for any other function. */
  providedAs(callee: LuaFunction): string | undefined
  /**
   * A table of functions that are made when somebody uses them first. All names stand in the program: what Lua sees is the
   * same function in all states of the worker, and the table is one in memory, as long as none changes it. `into`: puts
   * them into this table.
   */
  provideLibrary(
    library: string,
    fields: LibraryFields,
    make: (member: string) => LuaFunction,
    into?: LuaTable,
  ): LuaTable
  /**
   * Runs `task`, which enters Lua on behalf of somebody else while Lua waits for the host: an interrupt in it
   * ends with it, and does not reach what waits.
   */
  apart<T>(task: () => T): T
  /** Whether the metamethod that runs has been asked for a method that is called next: `object:name(…)`. */
  readonly selectsMethod: boolean
  /** `tostring` as Lua has it, honouring `__tostring` and `__name`; never throws. */
  toText(value: LuaValue): string
}
