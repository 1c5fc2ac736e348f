import { readType, type StubType } from './stub-types.ts'

/** Reads the annotations of `docs/lupine.lua`, line by line. */

export interface StubFunction {
  /** `Plugin:emit`, `base64.encode`, `expose`. */
  name: string
  line: number
  /** As the line of Lua names them. */
  parameters: string[]
  /** As the annotations name them. */
  annotated: Map<string, StubType>
  returns: number
  deprecated: boolean
}

export interface StubClass {
  line: number
  parent: string | undefined
  fields: Map<string, StubType>
  /** Any other name is allowed, too. */
  open: boolean
}

export interface Annotations {
  classes: Map<string, StubClass>
  aliases: Map<string, StubType>
  functions: StubFunction[]
  /** Class by the variable that has it: `Plugin` → `lupine.Plugin`. */
  variables: Map<string, string>
  /** Names of types with the line in which they stand; those of generics are left out. */
  used: { name: string; line: number }[]
  /** What could not be read. */
  faults: string[]
}

export function readAnnotations(text: string): Annotations {
  const found: Annotations = {
    classes: new Map(),
    aliases: new Map(),
    functions: [],
    variables: new Map(),
    used: [],
    faults: [],
  }
  let currentClass: string | undefined
  let annotated = new Map<string, StubType>()
  let generics = new Set<string>()
  let returns = 0
  let deprecated = false
  /** Since the last line of Lua there was an annotation that belongs to a function. */
  let pending = false

  const endBlock = (): void => {
    annotated = new Map()
    generics = new Set()
    returns = 0
    deprecated = false
    pending = false
  }

  const once = <T>(map: Map<string, T>, name: string, value: T, line: number): void => {
    if (map.has(name)) found.faults.push(`line ${line}: '${name}' is there twice`)
    map.set(name, value)
  }

  function annotation(tag: string, rest: string, line: number): void {
    const use = (type: StubType): StubType => {
      for (const name of type.names) if (!generics.has(name)) found.used.push({ name, line })
      return type
    }
    const whole = (source: string): StubType => {
      const { type, rest: left } = readType(source)
      if (left !== '' && !left.startsWith(' ')) throw new Error(`'${left}' behind a type`)
      return use(type)
    }
    switch (tag) {
      case 'meta':
        return
      case 'class': {
        const [, name, parent] = /^([\w.]+)(?:: ([\w.]+))?$/.exec(rest) ?? []
        if (name === undefined) throw new Error('a class without a name')
        currentClass = name
        if (parent !== undefined) found.used.push({ name: parent, line })
        once(found.classes, name, { line, parent, fields: new Map(), open: false }, line)
        return
      }
      case 'field': {
        const owner = found.classes.get(currentClass ?? '')
        if (owner === undefined) throw new Error('a field outside a class')
        const [, name, optional, type] = /^(\[string\]|\w+)(\?)? (.+)$/.exec(rest) ?? []
        if (name === undefined || type === undefined) throw new Error('a field needs a name and a type')
        if (name === '[string]') owner.open = true
        else once(owner.fields, name, whole(type), line)
        if (optional !== undefined && type.startsWith('nil')) throw new Error('nil twice')
        return
      }
      case 'alias': {
        const [, name, type] = /^([\w.]+) (.+)$/.exec(rest) ?? []
        if (name === undefined || type === undefined) throw new Error('an alias needs a name and a type')
        once(found.aliases, name, whole(type), line)
        return
      }
      case 'param': {
        const [, name, , type] = /^(\w+|\.\.\.)(\?)? (.+)$/.exec(rest) ?? []
        if (name === undefined || type === undefined) throw new Error('a parameter needs a name and a type')
        once(annotated, name, whole(type), line)
        pending = true
        return
      }
      case 'return':
        returns += 1
        pending = true
        // `fun(…)` alone takes all that follows; of others there may be a name and a description.
        whole(rest.replace(/^(\w+) \.\.\.$/, '$1'))
        return
      case 'overload':
        whole(rest)
        pending = true
        return
      case 'generic': {
        for (const part of rest.split(', ')) {
          const [, name, parent] = /^(\w+)(?:: ([\w.]+))?$/.exec(part) ?? []
          if (name === undefined) throw new Error('a generic without a name')
          generics.add(name)
          if (parent !== undefined) found.used.push({ name: parent, line })
        }
        pending = true
        return
      }
      case 'deprecated':
        deprecated = true
        pending = true
        return
      default:
        throw new Error(`'@${tag}' is no annotation that is used here`)
    }
  }

  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1
    const [, tag, rest = ''] = /^---@(\w+) ?(.*)$/.exec(content) ?? []
    try {
      if (tag !== undefined) {
        annotation(tag, rest, line)
        continue
      }
      if (/^---?\s*@/.test(content)) throw new Error('an annotation begins with ---@')
      if (content.startsWith('--')) continue
      const [, name, list = ''] = /^function ([\w.:]+)\((.*)\) end$/.exec(content) ?? []
      const [, variable] = /^(?:local )?(\w+) = \{\}$/.exec(content) ?? []
      if (name !== undefined) {
        const parameters = list === '' ? [] : list.split(', ')
        if (found.functions.some((other) => other.name === name)) throw new Error(`'${name}' is there twice`)
        found.functions.push({ name, line, parameters, annotated, returns, deprecated })
        endBlock()
      } else if (variable !== undefined && currentClass !== undefined) {
        once(found.variables, variable, currentClass, line)
        currentClass = undefined
      } else if (content !== '')
        throw new Error('neither an annotation, nor a comment, a table or a function')
      else {
        if (pending) throw new Error('annotations of a function without the function')
        currentClass = undefined
      }
    } catch (error) {
      found.faults.push(`line ${line}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return found
}
