/** Lua's hook is silent while a text is compiled: whoever has it compiled is asked now and then whether to go on. */
import { lexer } from './core.ts'

/** Some ten microseconds; in a long chain of conditions each of them takes a hundred times as long. */
const tokensPerQuestion = 50

let tokens = 0
const { luaX_next: next } = lexer

lexer.luaX_next = (state) => {
  next(state)
  tokens += 1
  if (tokens < tokensPerQuestion) return
  tokens = 0
  state.L.l_G.ask?.(state.L)
}
