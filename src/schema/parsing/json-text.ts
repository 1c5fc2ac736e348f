import { Problem } from '../../base/problem.ts'
import { createErrorRoom } from './error-room.ts'
import { jsonErrorPosition } from './json-position.ts'
import { escapePointer } from './json-pointer.ts'

/** JSON as it comes from a file or another computer: bytes that may be anything. */
export type JsonText = { ok: true; value: unknown; repeated: string[] } | { ok: false; message: string }

/** Deepest nesting of arrays and objects: beyond a few thousand levels, writing JSON overflows the stack. */
export const jsonDepthLimit = 64

/** As every number has it that is beyond what a double holds. */
const hugeNumber = /[eE]\+?\d{2}|\d{300}/

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
export function requireNoneTwice(repeated: readonly string[], of: 'body' | 'request'): void {
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
  path: string
  /** Undefined for an array. */
  keys: Set<string> | undefined
  /** Member that is being read. */
  key: string
  index: number
  expectsKey: boolean
}

/** Walks over the tokens of a text that is known to be JSON, without recursion. */
function inspect(text: string, value: unknown, depthLimit: number): JsonText {
  const repeated: string[] = []
  const room = createErrorRoom()
  const open: Container[] = []

  function note(pointer: string): void {
    if (room.take(pointer)) repeated.push(pointer)
  }

  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs)) {
    const top = open.at(-1)
    if (token === '{' || token === '[') {
      if (open.length === depthLimit) {
        return { ok: false, message: `nests deeper than ${depthLimit} levels` }
      }
      const path = top === undefined ? '' : pathOfMember(top)
      const keys = token === '{' ? new Set<string>() : undefined
      open.push({ path, keys, key: '', index: 0, expectsKey: token === '{' })
    } else if (token === '}' || token === ']') {
      open.pop()
    } else if (top === undefined || token === ':') {
      // A bare string, or the colon after a key: nothing to note.
    } else if (token === ',') {
      top.index += 1
      top.expectsKey = top.keys !== undefined
    } else if (top.keys !== undefined && top.expectsKey) {
      top.key = String(JSON.parse(token))
      if (top.keys.has(top.key)) note(pathOfMember(top))
      top.keys.add(top.key)
      top.expectsKey = false
    }
  }
  return { ok: true, value, repeated }
}

function pathOfMember({ path, keys, key, index }: Container): string {
  return `${path}/${keys === undefined ? index : escapePointer(key)}`
}
