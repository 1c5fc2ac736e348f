/** The part of fengari's inner objects that this room touches; fengari ships no types of its own. */

import type { LuaTable } from '../lua-value.ts'

/** One Lua value: a tag and what it holds. */
export interface TaggedValue {
  type: number
  value: unknown
  setfrom(other: TaggedValue): void
  setdeadvalue(): void
  ttisdeadkey(): boolean
}

export interface TaggedValueClass {
  new (type: number, value: unknown): TaggedValue
  prototype: {
    ttisinteger(this: TaggedValue): boolean
    ttisfloat(this: TaggedValue): boolean
  }
}

export interface LuaString {
  realstring: Uint8Array
  hash: string | null
  /** Not fengari's: what the bytes say; see `lua-reference.ts`. */
  text?: string | undefined
}

export interface TableEntry {
  key: TaggedValue
  value: TaggedValue
  /** The entries before and after it. */
  p: TableEntry | undefined
  n: TableEntry | undefined
}

export interface RawTable {
  /** The first entry, in the order in which `next` gives them. */
  f: TableEntry | undefined
  metatable: RawTable | null
  /** Not fengari's: the function that gets what is written to the table; see `tables.ts`. */
  writer?: TaggedValue | undefined
  /** Not fengari's: what stands for the table in JavaScript; see `lua-reference.ts`. */
  reference?: LuaTable | undefined
}

export interface Instruction {
  opcode: number
  A: number
  B: number
  C: number
}

export interface Prototype {
  code: Instruction[]
  p: Prototype[]
}

/** One running function. */
export interface CallInfo {
  l_base: number
  previous: CallInfo | null
  callstatus: number
  /** Only of a Lua function: its instructions, and the place of the next one. */
  l_code: Instruction[]
  l_savedpc: number
}

/** A Lua thread: the main one, or a coroutine. */
export interface LuaState {
  stack: TaggedValue[]
  top: number
  ci: CallInfo
  l_G: GlobalState
  /** Instructions until the count hook is called next. */
  hookcount: number
  /** Functions that have called each other in JavaScript. */
  nCcalls: number
}

/** What all threads of one Lua state share. */
export interface GlobalState {
  /** The next number for an object. */
  id_counter: number
  /** A table, with the globals among others. */
  l_registry: TaggedValue
  /** Called after some calls of JavaScript functions; answers after how many more it is called again. */
  afterCalls?: (L: LuaState) => number
  /** Not fengari's: called in the midst of long work, where Lua's hook does not ask. Raises when Lua has to stop. */
  ask?: (L: LuaState) => void
  /**
   * Not fengari's: the same for library functions. Sets the thread aside, too, when its slice is over, and `proceed` goes on
   * in its place later.
   */
  pause?: (L: LuaState, proceed: Continuation) => void
  /** Metatables that all values of a type have, by type. */
  mt: (RawTable | null | undefined)[]
  /** Not fengari's: see `shared-functions.ts`. */
  implementations?: Map<RawFunction, RawFunction>
}

/** A function as fengari calls it; answers how many results it left on the stack. */
export type RawFunction = (L: LuaState) => number
export type Continuation = (L: LuaState, status: number, context: number) => number

export interface Activation {
  name: Uint8Array | null
  what: Uint8Array
  short_src: Uint8Array
  currentline: number
  linedefined: number
}
