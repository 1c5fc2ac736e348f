/** Types of the Lua language server's annotations, as `docs/lupine.lua` uses them. */

/** What a type says of itself: the names in it, and the names that a table of it has. */
export interface StubType {
  /** Named types: `integer`, `lupine.Plugin`. */
  names: string[]
  /** Members of the tables that are written out in it, at its top level: `{ url?: boolean }`. */
  members: Map<string, StubType>
  /** It is, or may be, a function. */
  isFunction: boolean
}

/** Reads one type at the beginning of a text; with what is left of it. Throws `Error` for what is none. */
export function readType(text: string): { type: StubType; rest: string } {
  let left = text
  const found: StubType = { names: [], members: new Map(), isFunction: false }

  const next = (symbol: string): boolean => {
    const trimmed = left.trimStart()
    if (!trimmed.startsWith(symbol)) return false
    left = trimmed.slice(symbol.length)
    return true
  }
  const expect = (symbol: string): void => {
    if (!next(symbol)) throw new Error(`'${symbol}' expected before '${left.slice(0, 30)}' in '${text}'`)
  }
  const word = (pattern: RegExp): string | undefined => {
    const trimmed = left.trimStart()
    const [match] = pattern.exec(trimmed) ?? []
    if (match !== undefined) left = trimmed.slice(match.length)
    return match
  }
  const inner = (): StubType => {
    const { type, rest } = readType(left)
    left = rest
    found.names.push(...type.names)
    return type
  }

  /** `(a: T, b?: U, ...: V): R, S`, behind `fun`. */
  function signature(): void {
    expect('(')
    while (!next(')')) {
      if (word(/^(\.\.\.|[A-Za-z_]\w*)/) === undefined) throw new Error(`a parameter is missing in '${text}'`)
      next('?')
      if (next(':')) inner()
      next(',')
    }
    if (!next(':')) return
    do inner()
    while (next(','))
  }

  function members(): void {
    while (!next('}')) {
      const name = word(/^[A-Za-z_]\w*/)
      if (name === undefined) throw new Error(`a member is missing in '${text}'`)
      next('?')
      expect(':')
      found.members.set(name, inner())
      next(',')
    }
  }

  function single(): void {
    if (next('(')) {
      inner()
      expect(')')
    } else if (next('{')) members()
    else if (word(/^"[^"]*"/) === undefined && word(/^-?\d+(\.\d+)?/) === undefined) {
      const name = word(/^[A-Za-z_][\w.]*/)
      if (name === undefined) throw new Error(`a type expected before '${left.slice(0, 30)}' in '${text}'`)
      if (name === 'fun') {
        found.isFunction = true
        signature()
      } else {
        found.names.push(name)
        if (next('<')) {
          do inner()
          while (next(','))
          expect('>')
        }
      }
    }
    // No blanks before these: what follows a type is its description.
    while (/^(\[\]|\?)/.test(left)) left = left.replace(/^(\[\]|\?)/, '')
  }

  do single()
  while (/^\s*\|/.test(left) && next('|'))
  return { type: found, rest: left }
}
