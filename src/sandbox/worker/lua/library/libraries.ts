import type { LuaState } from '../engine/fengari-types.ts'
import type { Interrupt } from '../interrupt.ts'
import type { Preemption } from '../preemption.ts'
import { changeBase } from './base-library.ts'
import { changeCoroutine } from './coroutine-library.ts'
import { changeMath } from './math-library.ts'
import { fillOs } from './os-library.ts'
import { changeString } from './string-library.ts'
import { changeTable } from './table-library.ts'

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

export type Change = (L: LuaState, context: LibraryContext) => void

/** The changes of each library, made while it lies on top of the stack. */
export const changes: Readonly<Record<string, Change>> = {
  coroutine: changeCoroutine,
  math: changeMath,
  string: changeString,
  table: changeTable,
  _G: (L, context) => {
    changeBase(L, context)
    fillOs(L, context)
  },
}
