import type { LuaValue } from '../lua/lua-value.ts'
import { isTable, textArgument } from '../lua/arguments.ts'
import type { FormatLibrary } from './format-function.ts'

/** A name, or the place in a list, from 1 as Lua counts. */
export type PathStep = string | number

const nameStep = /^\.?([^.[\]]+)/
const indexStep = /^\[(\d{1,15})\]/
const quotedStep = /^\[(?:"([^"]*)"|'([^']*)')\]/

/** The steps of `$.a.b[0]["c d"]`; the empty path has none. Throws `Error` for what is no path. */
export function pathSteps(path: string): PathStep[] {
  const isFromRoot = path.startsWith('$')
  let rest = isFromRoot ? path.slice(1) : path
  const steps: PathStep[] = []
  while (rest !== '') {
    const [read = '', name = '', index, double, single] = nextStep(rest, steps.length > 0 || isFromRoot)
    if (read === '') throw new Error(`cannot read the path '${path}' from '${rest}' on`)
    steps.push(index === undefined ? (double ?? single ?? name) : Number(index) + 1)
    rest = rest.slice(read.length)
  }
  return steps
}

/** What is read, and then a name, an index, or a name in quotation marks of two kinds. */
function nextStep(rest: string, wantsDot: boolean): (string | undefined)[] {
  const index = indexStep.exec(rest)
  if (index !== null) return [index[0], undefined, index[1]]
  const quoted = quotedStep.exec(rest)
  if (quoted !== null) return [quoted[0], undefined, undefined, quoted[1], quoted[2]]
  const name = nameStep.exec(rest)
  // A dot separates a name from what is before it.
  if (name === null || wantsDot !== rest.startsWith('.')) return []
  return [name[0], name[1]]
}

/** What is at the end of the steps; undefined where the way there is missing. */
export function valueAt(value: LuaValue, steps: readonly PathStep[]): LuaValue {
  let found = value
  for (const step of steps) {
    if (!isTable(found)) return undefined
    found = found.get(step)
  }
  return found
}

/** A value in decoded JSON by its path. */
export const jsonpath: FormatLibrary = {
  get: (_context, value, path) =>
    valueAt(
      value,
      path instanceof Uint8Array && path.length === 0 ? [] : pathSteps(textArgument('jsonpath.get', 2, path)),
    ),
}
