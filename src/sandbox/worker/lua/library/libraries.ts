import { libraries, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import type { Interrupt } from '../interrupt.ts'
import type { Preemption } from '../preemption.ts'
import { baseFunctions, openBase } from './base-library.ts'
import { coroutineFunctions } from './coroutine-library.ts'
import { openMath, randomFunctions } from './math-library.ts'
import { osFunctions } from './os-library.ts'
import { openString, stringFunctions } from './string-library.ts'
import { openTable, tableFunctions } from './table-library.ts'

/** What the runtime has to know of coroutines. */
export interface Threads {
  /** Whether the host has made it to enter Lua: no coroutine of the plugin's. */
  isEntry(thread: LuaState): boolean
  /** This thread runs from now on. */
  enter(thread: LuaState): void
  /** This one ended with an error, which goes on in the thread that resumed it. */
  failed(thread: LuaState): void
  /** An error was caught, and what led to it is of no interest any more. */
  caught(): void
}

/** What the libraries need of their runtime. */
export interface LibraryContext {
  print(text: string): void
  now(): number
  interrupt: Interrupt
  preemption: Preemption
  threads: Threads
  /** Bytes. */
  stringLimit: number
}

/** One library of Lua, in two parts. */
export interface Library {
  name: string
  /** Puts a table with what needs nothing of its state on the stack; answers 1. */
  open: RawFunction
  /** The other functions, which are made in a state with its first use of one of them. */
  functions?(context: LibraryContext): Record<string, RawFunction>
}

function openEmpty(L: LuaState): number {
  lua.lua_createtable(L, 0, 0)
  return 1
}

/** All that a plugin may use, in the order in which they are opened. */
export const allowedLibraries: readonly Library[] = [
  { name: 'coroutine', open: libraries.luaopen_coroutine, functions: coroutineFunctions },
  { name: 'math', open: openMath, functions: randomFunctions },
  { name: 'string', open: openString, functions: stringFunctions },
  { name: 'table', open: openTable, functions: tableFunctions },
  { name: 'utf8', open: libraries.luaopen_utf8 },
  { name: '_G', open: openBase, functions: baseFunctions },
  { name: 'os', open: openEmpty, functions: osFunctions },
]
