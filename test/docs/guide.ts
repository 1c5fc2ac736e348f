import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads `docs/plugin-api.md` and `docs/lupine.lua` as tests need them. */

const folder = join(import.meta.dirname, '..', '..', 'docs')
export const guide = readFileSync(join(folder, 'plugin-api.md'), 'utf8')
export const stub = readFileSync(join(folder, 'lupine.lua'), 'utf8')

interface Heading {
  level: number
  title: string
  from: number
}

const fence = /^```/
const headings: Heading[] = []
const lines = guide.split('\n')
let fenced = false
for (const [index, line] of lines.entries()) {
  if (fence.test(line)) fenced = !fenced
  const [, marks = '', title = ''] = /^(#+) (.*)$/.exec(line) ?? []
  if (!fenced && marks !== '') headings.push({ level: marks.length, title, from: index + 1 })
}

/** What is written in code within headings: `plugin:emit(name, data, options)`, `JSON`, … */
export const headingCodes: readonly string[] = headings.flatMap(({ title }) =>
  [...title.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
)

/** Lines under a heading, up to the next heading. */
function linesUnder(title: string): string[] {
  const index = headings.findIndex((heading) => heading.title === title)
  const heading = headings[index]
  if (heading === undefined) throw new Error(`the guide has no heading "${title}"`)
  return lines.slice(heading.from, headings[index + 1]?.from ?? lines.length)
}

/** Cells of the tables under a heading, without the first two lines of each table. */
export function rowsUnder(title: string): string[][] {
  const rows = linesUnder(title).filter((line) => line.startsWith('|'))
  return rows
    .filter((_, index) => !/^[ |-]+$/.test(rows[index] ?? '') && !/^[ |-]+$/.test(rows[index + 1] ?? ''))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

/** Names in the first column of the tables under a heading: `poll()` is poll, `min`, `max` are two. */
export function namesUnder(title: string): string[] {
  return rowsUnder(title)
    .flatMap(([first = '']) => [...first.matchAll(/`([\w]+)/g)].map(([, name = '']) => name))
    .sort()
}

/** Blocks of a language, in order. */
export function blocks(language: string): string[] {
  return [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , text = '']) => text)
}

export interface Stub {
  /** Fields and methods by class. */
  classes: ReadonlyMap<string, ReadonlySet<string>>
  /** Classes by the global that is one, `Plugin` → `lupine.Plugin`. */
  globals: ReadonlyMap<string, string>
  /** Global functions. */
  functions: ReadonlySet<string>
  /** `math.pow`, `table.maxn`: what is added to Lua's own tables. */
  additions: ReadonlySet<string>
}

/** What the stub says there is. */
export function readStub(): Stub {
  const classes = new Map<string, Set<string>>()
  const globals = new Map<string, string>()
  const variables = new Map<string, string>()
  const functions = new Set<string>()
  const additions = new Set<string>()
  let current: string | undefined
  for (const line of stub.split('\n')) {
    const [, name, parent] = /^---@class ([\w.]+)(?:: ([\w.]+))?/.exec(line) ?? []
    if (name !== undefined) {
      current = name
      classes.set(name, new Set(parent === undefined ? [] : classes.get(parent)))
    }
    const [, field] = /^---@field (\w+)/.exec(line) ?? []
    if (field !== undefined && current !== undefined) classes.get(current)?.add(field)
    const [, local, variable] = /^(local )?(\w+) = \{\}/.exec(line) ?? []
    if (variable !== undefined && current !== undefined) {
      variables.set(variable, current)
      if (local === undefined) globals.set(variable, current)
    }
    const [, owner, method] = /^function (\w+)[:.](\w+)\(/.exec(line) ?? []
    if (owner !== undefined && method !== undefined) {
      const known = variables.get(owner)
      if (known === undefined) additions.add(`${owner}.${method}`)
      else classes.get(known)?.add(method)
    }
    const [, plain] = /^function (\w+)\(/.exec(line) ?? []
    if (plain !== undefined) functions.add(plain)
  }
  return { classes, globals, functions, additions }
}
