import { toBytes, toUnicode } from './text/bytes.ts'
import { lua } from './engine/engine.ts'
import type { Activation, LuaState, RawFunction } from './engine/fengari-types.ts'

/** Lines of a traceback; a runaway recursion needs no more to be seen. */
const mostFrames = 30

const wanted = toBytes('Slntf')

export interface Traceback {
  text: string
  /** The innermost line of Lua code. */
  file: string | undefined
  line: number | undefined
}

/** Walks the Lua frames above `level`. `nameOf` knows the functions that the host made. */
export function takeTraceback(
  L: LuaState,
  level: number,
  nameOf: (implementation: RawFunction) => string | undefined,
): Traceback {
  const lines: string[] = []
  let file: string | undefined
  let line: number | undefined
  const activation = new lua.lua_Debug()
  for (let depth = level; lua.lua_getstack(L, depth, activation) && lines.length < mostFrames; depth += 1) {
    lua.lua_getinfo(L, wanted, activation)
    const implementation = lua.lua_tocfunction(L, -1)
    lua.lua_pop(L, 1)
    if (activation.currentline > 0) {
      const source = toUnicode(activation.short_src)
      file ??= source
      line ??= activation.currentline
      lines.push(`${source}:${activation.currentline}: in ${functionText(activation)}`)
    } else if (implementation !== null) {
      const name =
        nameOf(implementation) ?? (activation.name === null ? undefined : toUnicode(activation.name))
      if (name !== undefined) lines.push(`[host]: in function '${name}'`)
    }
  }
  return { text: lines.join('\n'), file, line }
}

/** One below the other, as when a coroutine's error goes on in the thread that resumed it. */
export function joinTracebacks(inner: Traceback | undefined, outer: Traceback): Traceback {
  if (inner === undefined || inner.text === '') return outer
  return {
    text: `${inner.text}\n(in a coroutine)\n${outer.text}`,
    file: inner.file ?? outer.file,
    line: inner.line ?? outer.line,
  }
}

function functionText({ name, what, linedefined }: Activation): string {
  if (toUnicode(what) === 'main') return 'main chunk'
  return name === null ? `function defined at line ${linedefined}` : `function '${toUnicode(name)}'`
}
