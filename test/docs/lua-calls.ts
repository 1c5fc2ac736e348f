/** Finds the calls of Lua code with the tables that are written out in their arguments. A scanner, not a parser. */

export interface LuaTable {
  /** Fields by name; those that are tables themselves have theirs. */
  fields: Map<string, LuaTable | undefined>
}

export interface LuaCall {
  /** `plugin:emit`, `Modbus.readHolding`, `expose`. */
  name: string
  /** By position from 0; undefined for what is no table. */
  tables: (LuaTable | undefined)[]
}

const token =
  /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|[A-Za-z_]\w*|\d[\w.]*|\.\.\.?|[=~<>]=|::|[^\s\w]/g

export function callsIn(code: string): LuaCall[] {
  const tokens = [...code.matchAll(token)].map(([text]) => text).filter((text) => !text.startsWith('--'))
  const calls: LuaCall[] = []
  let at = 0

  /** All up to a token that ends this, at this level; tables and calls within are read on the way. */
  function expression(ends: readonly string[]): LuaTable | undefined {
    const first = at
    let table: LuaTable | undefined
    let depth = 0
    while (at < tokens.length) {
      const text = tokens[at] ?? ''
      if (depth === 0 && ends.includes(text)) break
      if (text === '{') {
        const found = tableHere()
        // A table is the argument only if it is all of it.
        if (at - 1 >= first && tokens[first] === '{' && ends.includes(tokens[at] ?? '')) table = found
        continue
      }
      if (/^(function|do|repeat|if|while|for)$/.test(text)) {
        // `while … do` and `for … do` end once.
        if (text !== 'do' || !/^(while|for)$/.test(loops.at(-1) ?? '')) depth += 1
        if (text === 'while' || text === 'for') loops.push(text)
        else if (text === 'do') loops.pop()
      }
      if (text === 'end' || text === 'until') depth -= 1
      if (text === '(' || text === '[') depth += 1
      if (text === ')' || text === ']') depth -= 1
      if (depth < 0) break
      at += 1
      if (isCall()) callHere()
    }
    return table
  }
  const loops: string[] = []

  function tableHere(): LuaTable {
    const fields: LuaTable['fields'] = new Map()
    at += 1
    while (at < tokens.length && tokens[at] !== '}') {
      if (/^[A-Za-z_]/.test(tokens[at] ?? '') && tokens[at + 1] === '=') {
        const name = tokens[at] ?? ''
        at += 2
        fields.set(name, expression([',', ';', '}']))
      } else expression([',', ';', '}'])
      if (tokens[at] === ',' || tokens[at] === ';') at += 1
    }
    at += 1
    return { fields }
  }

  /** At an opening parenthesis, or a table, right behind a name. */
  function isCall(): boolean {
    return /^[A-Za-z_]\w*$/.test(tokens[at - 1] ?? '') && tokens[at] === '(' && tokens[at - 2] !== 'function'
  }

  function callHere(): void {
    let from = at - 1
    while (/^[.:]$/.test(tokens[from - 1] ?? '') && /^\w/.test(tokens[from - 2] ?? '')) from -= 2
    if (tokens[from - 1] === 'function') return
    const call: LuaCall = { name: tokens.slice(from, at).join(''), tables: [] }
    calls.push(call)
    at += 1
    while (at < tokens.length && tokens[at] !== ')') {
      call.tables.push(expression([',', ')']))
      if (tokens[at] === ',') at += 1
    }
    at += 1
    if (isCall()) callHere()
  }

  while (at < tokens.length) {
    expression([])
    at += 1
  }
  return calls
}
