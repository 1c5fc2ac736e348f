import { toBytes } from '../bytes.ts'
import { lua } from '../engine.ts'
import type { LuaState } from '../fengari-types.ts'
import type { Interrupt } from '../interrupt.ts'
import { changeBase } from './base-library.ts'
import { changeCoroutine } from './coroutine-library.ts'
import { changeMath } from './math-library.ts'
import { copyLibraries } from './opened-libraries.ts'
import { fillOs } from './os-library.ts'
import { changeString } from './string-library.ts'
import { changeTable } from './table-library.ts'

/** What the runtime has to know of coroutines. */
export interface Threads {
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
  threads: Threads
  /** Bytes. */
  stringLimit: number
}

type Change = (L: LuaState, context: LibraryContext) => void

/** Opens what a plugin may use, each library with its changes made while it lies on top of the stack. */
export function openLibraries(L: LuaState, context: LibraryContext): void {
  copyLibraries(L)
  const changed = (name: string, change: Change): void => {
    lua.lua_getglobal(L, toBytes(name))
    change(L, context)
    lua.lua_pop(L, 1)
  }
  changed('coroutine', changeCoroutine)
  changed('math', changeMath)
  changed('string', changeString)
  changed('table', changeTable)
  changed('_G', (state) => {
    changeBase(state, context)
    fillOs(state, context)
  })
}
