import { getOrInsert } from '../../base/get-or-insert.ts'
import { cutText, messageBytesLimit } from '../../base/text/cut-text.ts'
import { isJsonObject, type Json, type JsonObject, mapMembers } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import { pointerSteps } from './json-pointer.ts'
import type { Parsed, Parser } from './parser.ts'

/** Reads what somebody else wrote as far as it can be used: what is broken is left out, and told. Pure. */

/** After so many looks a whole member of the top is left out: a hostile text must not be read for ever. */
const patience = 3
/** So is one with more mistakes than a person makes: hundreds of thousands are looked through each time. */
const mostMistakes = 150

/** What a warning about something that is left out ends with. */
export const leftOutEnding = '; it is left out'

export interface LenientRules {
  /** Brings what is meant well into the form of the schema. */
  tidy(value: JsonObject): JsonObject
  /** Whether everything is refused when this place is broken. `found`: what stands there, if anything. */
  isVital(path: readonly string[], found: unknown): boolean
  /** What goes with it: how many steps of the path name what is left out. */
  unit(path: readonly string[]): number
}

export interface Lenient<T> {
  value: T
  /** What was left out. */
  warnings: ProblemDetail[]
}

export function parseLeniently<T>(
  parse: Parser<T>,
  given: unknown,
  { tidy, isVital, unit }: LenientRules,
): Parsed<Lenient<T>> {
  let value = isJsonObject(given) ? tidy(given) : given
  const warnings: ProblemDetail[] = []
  for (let look = 0; ; look += 1) {
    const parsed = parse(value)
    if (parsed.ok) return { ok: true, value: { value: parsed.value, warnings } }
    const broken = parsed.errors.map((error) => ({ error, path: pointerSteps(error.path) }))
    const vital = broken.filter(({ path }) => isVital(path, at(value, path)))
    if (vital.length > 0) return { ok: false, errors: vital.map(({ error }) => error) }
    const isHopeless = look >= patience || broken.length > mostMistakes
    const gone = broken.map(({ path }) => path.slice(0, isHopeless ? 1 : unit(path)))
    if (!isJsonObject(value) || gone.some(({ length }) => length === 0)) return parsed
    warnings.push(
      ...broken.map(({ error: { path, message } }) => ({ path, message: message + leftOutEnding })),
    )
    value = leaveOut(value, treeOf(gone))
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = Reflect.get(found, step)
  }
  return found
}

/** What is left out, by the steps that lead there; `true`: all of it. */
type Places = ReadonlyMap<string, Places | true>

function treeOf(paths: readonly string[][]): Places {
  const below = new Map<string, string[][]>()
  for (const [step = '', ...rest] of paths) {
    getOrInsert(below, step, () => []).push(rest)
  }
  return new Map(
    [...below].map(([step, rests]) => [
      step,
      rests.some(({ length }) => length === 0) ? true : treeOf(rests),
    ]),
  )
}

/** Copies only what is on the way to something that is left out. */
function leaveOut(value: Json, gone: Places): Json {
  const rest = (member: Json, step: string): Json | undefined => {
    const places = gone.get(step)
    if (places === undefined) return member
    return places === true ? undefined : leaveOut(member, places)
  }
  if (Array.isArray(value))
    return value.map((item, index) => rest(item, String(index))).filter((item) => item !== undefined)
  return isJsonObject(value) ? mapMembers(value, rest) : value
}

/** The same object with these members changed, where they are there. */
export function changeMembers(
  value: Json,
  changes: Readonly<Record<string, (member: Json) => Json | undefined>>,
): Json {
  if (!isJsonObject(value)) return value
  return mapMembers(value, (member, key) => {
    const change = Object.hasOwn(changes, key) ? changes[key] : undefined
    return change === undefined ? member : change(member)
  })
}

/** `change` for each item of a list; what is no list stays as it is. */
export function eachItem(change: (item: Json) => Json): (value: Json) => Json {
  return (value) => (Array.isArray(value) ? sameOr(value, value.map(change)) : value)
}

/** The list that was given where nothing in it became another: what was left as it is need not be looked at again. */
function sameOr(given: Json[], changed: Json[]): Json[] {
  const isSame = changed.length === given.length && changed.every((item, index) => item === given[index])
  return isSame ? given : changed
}

/** The same without members that are null. */
export function withoutNullMembers(value: JsonObject): JsonObject {
  return mapMembers(value, (member) => member ?? undefined)
}

/** Values that count as absent, in members and in lists; those below the keys in `kept` are not looked at. */
export function withoutNulls(value: Json, kept: ReadonlySet<string>): Json {
  if (Array.isArray(value)) {
    return sameOr(
      value,
      value.filter((item) => item !== null).map((item) => withoutNulls(item, kept)),
    )
  }
  if (!isJsonObject(value)) return value
  return mapMembers(value, (member, key) => {
    if (member === null) return undefined
    return kept.has(key) ? member : withoutNulls(member, kept)
  })
}

/** `1.0` → `1.0.0`, also as a number; what is no version stays as it is, to be refused. */
export function completeVersion(value: Json): Json {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return value
  const [, numbers, rest = ''] = /^\s*(v?\d+(?:\.\d+){0,2})([-+]\S*)?\s*$/.exec(text) ?? []
  if (numbers === undefined) return value
  return `${numbers}${'.0'.repeat(3 - numbers.split('.').length)}${rest}`
}

/** `{ "name": "Ada", … }` → `Ada`. */
function authorName(value: Json): Json {
  return isJsonObject(value) && typeof value.name === 'string' ? value.name : value
}

/** Bytes of what a plugin or its author is called, and of other words. */
const nameBytesLimit = 512
/** Words to find a plugin by. */
export const tagLimit = 100

/** What people read in lists of plugins, no longer than they read: each list of each page would have all of it. */
export const shortTexts: Readonly<Record<string, (value: Json) => Json | undefined>> = {
  name: shortName,
  description: shortened(messageBytesLimit),
  author: (value) => shortName(authorName(value)),
  license: shortName,
  homepage: shortAddress,
  url: shortAddress,
  updated: shortName,
  tags: (tags) => eachItem(shortName)(Array.isArray(tags) ? tags.slice(0, tagLimit) : tags),
}

/** The same of what a form or a list says of one setting, sensor, control, event or document. */
export const shortLabels: typeof shortTexts = {
  description: shortened(messageBytesLimit),
  ...Object.fromEntries(
    ['label', 'placeholder', 'unit', 'group', 'type', 'title'].map((member) => [member, shortName]),
  ),
}

function shortName(value: Json): Json {
  return shortened(nameBytesLimit)(value)
}

/** Half of an address leads nowhere. */
function shortAddress(value: Json): Json | undefined {
  return shortened(messageBytesLimit)(value) === value ? value : undefined
}

function shortened(limit: number): (value: Json) => Json {
  return (value) => (typeof value === 'string' ? cutText(value, limit) : value)
}

/** People write `./lib/a.lua` for `lib/a.lua`. */
export function withoutDot(value: Json): Json {
  return typeof value === 'string' ? value.replace(/^(?:\.\/+)+/, '') : value
}
