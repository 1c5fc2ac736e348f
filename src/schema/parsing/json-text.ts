import { Problem } from '../../base/problem.ts'
import { createErrorQuota } from './error-quota.ts'
import { jsonErrorPosition } from './json-position.ts'
import { escapePointer } from './json-pointer.ts'

/** JSON as it comes from a file or another computer: bytes that may be anything. */
export type JsonText = { ok: true; value: unknown; repeated: string[] } | { ok: false; message: string }

/** Deepest nesting of arrays and objects: beyond a few thousand levels, writing JSON overflows the stack. */
export const jsonDepthLimit = 64

/** As every number has it that is beyond what a double holds. */
const hugeNumber = /[eE]\+?\d{2}|(?<!\d)\d{300}/

/**
 * Reads UTF-8 JSON. `repeated` holds the pointers of members that an object has twice, of very many the first ones:
 * JavaScript takes the last one without a word. `message` is the rest of a sentence that begins with the name of the file.
 * `depthLimit` is in levels of arrays and objects.
 */
export function parseJsonText(bytes: Uint8Array, depthLimit = jsonDepthLimit): JsonText {
  if (bytes.length === 0) return { ok: false, message: 'is empty' }
  if (bytes.includes(0)) return { ok: false, message: 'contains NUL bytes, so it is no JSON text' }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { ok: false, message: 'is not UTF-8 text' }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (/^\s*<(!doctype|html|\?xml)/i.test(text)) return { ok: false, message: 'is a web page, not JSON' }
    // A position is enough, and shows nothing of the content.
    return { ok: false, message: `is not valid JSON (${placeOf(text, jsonErrorPosition(text))})` }
  }
  const inspected = inspect(text, value, depthLimit)
  // JavaScript makes an infinity of it, which JSON has not: it would be written as null.
  if (inspected.ok && hugeNumber.test(text) && holdsInfinity(value)) {
    return { ok: false, message: 'has a number beyond ±1.8e308, which is more than can be kept' }
  }
  return inspected
}

/**
 * Which of two values is meant, nobody knows. `of`: what a sentence calls it. Throws `body_invalid` that names each member of
 * `repeated`.
 */
export function requireUnique(repeated: readonly string[], of: 'body' | 'request'): void {
  if (repeated.length === 0) return
  const errors = repeated.map((path) => ({ path, message: 'is there more than once' }))
  throw new Problem('body_invalid', `The ${of} has members of the same name in one object.`, { errors })
}

/** `value`: parsed JSON, of a depth that was looked at. */
function holdsInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity)
}

/** The line and the column of a position, both from 1. */
function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

interface Container {
  /** Undefined for an array. */
  keys: Set<string> | undefined
  /** Member that is being read. */
  key: string
  index: number
  expectsKey: boolean
}

/** The rest of a string, from behind its first quote. */
const restOfString = /[^"\\]*(?:\\.[^"\\]*)*"/sy

/**
 * Whether a text has more arrays, objects and commas outside of strings than `most`, as far as it can be JSON: to parse hundreds
 * of thousands of values takes many times as long as to see that they are there.
 */
export function exceedsValueCount(text: string, most: number): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  let count = 0
  for (let position = 0; position < text.length; position += 1) {
    const character = text.charAt(position)
    if (character === '"') {
      restOfString.lastIndex = position + 1
      if (!restOfString.test(text)) return false
      position = restOfString.lastIndex - 1
    } else if (character === ',' || character === '[' || character === '{') {
      count += 1
      if (count > most) return true
    }
  }
  return false
}

/** Walks over the tokens of a text that is known to be JSON, without recursion: a megabyte has a million of them. */
function inspect(text: string, value: unknown, depthLimit: number): JsonText {
  const repeated: string[] = []
  const takeRoom = createErrorQuota()
  const open: Container[] = []
  let top: Container | undefined

  function readKey(container: Container, keys: Set<string>, quoted: string): void {
    container.key = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
    container.expectsKey = false
    if (!keys.has(container.key)) {
      keys.add(container.key)
      return
    }
    const pointer = open.map(stepOf).join('')
    if (takeRoom(pointer)) repeated.push(pointer)
  }

  for (let position = 0; position < text.length; position += 1) {
    const character = text.charAt(position)
    if (character === '"') {
      restOfString.lastIndex = position + 1
      restOfString.test(text)
      if (top?.keys !== undefined && top.expectsKey)
        readKey(top, top.keys, text.slice(position, restOfString.lastIndex))
      position = restOfString.lastIndex - 1
    } else if (character === '{' || character === '[') {
      if (open.length === depthLimit) {
        return { ok: false, message: `nests deeper than ${depthLimit} levels` }
      }
      const keys = character === '{' ? new Set<string>() : undefined
      top = { keys, key: '', index: 0, expectsKey: keys !== undefined }
      open.push(top)
    } else if (character === '}' || character === ']') {
      open.pop()
      top = open.at(-1)
    } else if (character === ',' && top !== undefined) {
      top.index += 1
      top.expectsKey = top.keys !== undefined
    }
  }
  return { ok: true, value, repeated }
}

function stepOf({ keys, key, index }: Container): string {
  return `/${keys === undefined ? index : escapePointer(key)}`
}
