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

/** As `tables.ts` makes them, in place of fengari's own. */
export interface RawTable {
  /** By what the key is in a map: fengari's lexer looks here, too. */
  strong: Map<unknown, TableEntry>
  /** Whether other tables have the same fields: they are copied before one is changed. */
  isShared: boolean
  /** The first entry, in the order in which `next` gives them, and the last one. */
  f: TableEntry | undefined
  l: TableEntry | undefined
  /** The last position of what it was made of as a list, maybe with holes; 0: of nothing. */
  reach: number
  /** Fields that were removed since the last one was added: a traversal goes on from there. */
  removed: Map<unknown, TableEntry> | undefined
  removedObjects: WeakMap<object, TableEntry> | undefined
  /** Sets the fields, once somebody looks at them or adds one; it is given the table's reference. */
  fill: ((table: LuaTable) => void) | undefined
  /** Bits of the metamethods that are known to be absent. */
  flags: number
  metatable: RawTable | null
  /** The function that gets what is written to the table. */
  writer?: TaggedValue | undefined
  /** What stands for the table in JavaScript; see `lua-reference.ts`. */
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
