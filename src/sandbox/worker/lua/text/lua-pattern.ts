/** Lua patterns on bytes. An own matcher: fengari's cannot be stopped, and a pattern may take time that is exponential in its length. */
import { inClass, isDigit } from './character-class.ts'
import { LuaFailure } from '../raw-function.ts'

/** Steps between two calls of `poll`, and after which a search is interrupted: some hundred microseconds. */
const stepsPerPoll = 20_000
/** Nesting of the matcher; deeper patterns are refused, as in Lua. */
const deepestMatch = 200
const mostCaptures = 32
/** Length of a capture that is not closed yet, or that stands for a position. */
const unfinished = -1
const position = -2

const code = (character: string): number => character.charCodeAt(0)
const escapeSign = code('%')
const caret = code('^')
const dollar = code('$')
const open = code('(')
const close = code(')')
const openSet = code('[')
const closeSet = code(']')
const dash = code('-')
const dot = code('.')
const star = code('*')
const plus = code('+')
const question = code('?')
const frontier = code('f')
const balance = code('b')
const zero = code('0')

/** A captured piece of the subject, or a position in it, from 1. */
export type Capture = Uint8Array | number

export interface Match {
  /** Offsets into the subject: the first byte, and the one behind the last. */
  start: number
  end: number
  /** What the parentheses caught; the whole match when there are none. */
  captures: Capture[]
  /** Without the whole match in place of missing captures. */
  explicit: Capture[]
}

export interface Matcher {
  /** The first match that starts at `from` or later. A number: none starts before it, which took long to find out; others may have their turn first. */
  find(from: number): Match | number | undefined
  readonly anchored: boolean
}

/** `poll` is called now and then, and may throw. Without `anchors` a caret at the beginning is a plain one. */
export function createMatcher(
  subject: Uint8Array,
  whole: Uint8Array,
  poll: () => void,
  anchors = true,
): Matcher {
  const anchored = anchors && whole[0] === caret
  const pattern = anchored ? whole.subarray(1) : whole
  const end = subject.length
  const patternEnd = pattern.length
  const starts: number[] = []
  const lengths: number[] = []
  let level = 0
  let depth = 0
  let steps = 0
  let polls = 0

  /** `bytes` of a set, or of a capture, are read in it: some of them take as long as a step. */
  function step(bytes = 0): void {
    steps += 1 + (bytes >> 4)
    if (steps >= stepsPerPoll) {
      steps = 0
      polls += 1
      poll()
    }
  }

  /** Behind the single item at `p`: a character, a class or a set. */
  function itemEnd(p: number): number {
    const first = pattern[p]
    let next = p + 1
    if (first === escapeSign) {
      if (next >= patternEnd) throw new LuaFailure("malformed pattern (ends with '%')")
      return next + 1
    }
    if (first !== openSet) return next
    if (pattern[next] === caret) next += 1
    // A bracket right at the beginning belongs to the set.
    do {
      if (next >= patternEnd) throw new LuaFailure("malformed pattern (missing ']')")
      if (pattern[next] === escapeSign) next += 1
      next += 1
    } while (pattern[next] !== closeSet)
    step(next - p)
    return next + 1
  }

  /** `last` is the closing bracket. */
  function inSet(c: number, p: number, last: number): boolean {
    step(last - p)
    const negated = pattern[p + 1] === caret
    for (let at = negated ? p + 2 : p + 1; at < last; at += 1) {
      if (pattern[at] === escapeSign) {
        at += 1
        if (inClass(c, pattern[at] ?? 0)) return !negated
      } else if (pattern[at + 1] === dash && at + 2 < last) {
        if ((pattern[at] ?? 0) <= c && c <= (pattern[at + 2] ?? 0)) return !negated
        at += 2
      } else if (pattern[at] === c) return !negated
    }
    return negated
  }

  function single(s: number, p: number, next: number): boolean {
    if (s >= end) return false
    const c = subject[s] ?? 0
    switch (pattern[p]) {
      case dot:
        return true
      case escapeSign:
        return inClass(c, pattern[p + 1] ?? 0)
      case openSet:
        return inSet(c, p, next - 1)
      default:
        return pattern[p] === c
    }
  }

  function greedy(s: number, p: number, next: number): number {
    let count = 0
    while (single(s + count, p, next)) {
      count += 1
      step()
    }
    for (; count >= 0; count -= 1) {
      const found = match(s + count, next + 1)
      if (found >= 0) return found
    }
    return -1
  }

  function lazy(from: number, p: number, next: number): number {
    for (let s = from; ; s += 1) {
      const found = match(s, next + 1)
      if (found >= 0) return found
      if (!single(s, p, next)) return -1
    }
  }

  function startCapture(s: number, p: number, kind: number): number {
    if (level >= mostCaptures) throw new LuaFailure('too many captures')
    starts[level] = s
    lengths[level] = kind
    level += 1
    const found = match(s, p)
    if (found < 0) level -= 1
    return found
  }

  function endCapture(s: number, p: number): number {
    let index = level - 1
    while (index >= 0 && lengths[index] !== unfinished) index -= 1
    if (index < 0) throw new LuaFailure('invalid pattern capture')
    lengths[index] = s - (starts[index] ?? 0)
    const found = match(s, p)
    if (found < 0) lengths[index] = unfinished
    return found
  }

  function balanced(s: number, p: number): number {
    if (p + 1 >= patternEnd) throw new LuaFailure("malformed pattern (missing arguments to '%b')")
    if (s >= end || subject[s] !== pattern[p]) return -1
    let nesting = 1
    for (let at = s + 1; at < end; at += 1) {
      step()
      if (subject[at] === pattern[p + 1]) {
        nesting -= 1
        if (nesting === 0) return at + 1
      } else if (subject[at] === pattern[p]) nesting += 1
    }
    return -1
  }

  /** Behind the text of capture `digit` when it stands at `s` again. */
  function repeated(s: number, digit: number): number {
    const index = digit - zero - 1
    const length = lengths[index]
    if (index < 0 || index >= level || length === undefined || length === unfinished) {
      throw new LuaFailure(`invalid capture index %${index + 1}`)
    }
    if (length < 0 || end - s < length) return -1
    const start = starts[index] ?? 0
    step(length)
    for (let at = 0; at < length; at += 1) if (subject[start + at] !== subject[s + at]) return -1
    return s + length
  }

  function match(s: number, p: number): number {
    depth += 1
    if (depth > deepestMatch) throw new LuaFailure('pattern too complex')
    const found = matchHere(s, p)
    depth -= 1
    return found
  }

  /** The offset behind the match of the pattern from `patternStart` on, or -1. */
  function matchHere(start: number, patternStart: number): number {
    let s = start
    let p = patternStart
    for (;;) {
      step()
      if (p >= patternEnd) return s
      const first = pattern[p]
      if (first === open) {
        return pattern[p + 1] === close
          ? startCapture(s, p + 2, position)
          : startCapture(s, p + 1, unfinished)
      }
      if (first === close) return endCapture(s, p + 1)
      if (first === dollar && p + 1 === patternEnd) return s === end ? s : -1
      if (first === escapeSign) {
        const second = pattern[p + 1] ?? 0
        if (second === balance) {
          s = balanced(s, p + 2)
          if (s < 0) return -1
          p += 4
          continue
        }
        if (second === frontier) {
          p += 2
          if (pattern[p] !== openSet) throw new LuaFailure("missing '[' after '%f' in pattern")
          const next = itemEnd(p)
          const before = s === 0 ? 0 : (subject[s - 1] ?? 0)
          if (inSet(before, p, next - 1) || !inSet(subject[s] ?? 0, p, next - 1)) return -1
          p = next
          continue
        }
        if (isDigit(second)) {
          s = repeated(s, second)
          if (s < 0) return -1
          p += 2
          continue
        }
      }
      const next = itemEnd(p)
      switch (pattern[next]) {
        case question: {
          if (single(s, p, next)) {
            const found = match(s + 1, next + 1)
            if (found >= 0) return found
          }
          p = next + 1
          continue
        }
        case plus:
          return single(s, p, next) ? greedy(s + 1, p, next) : -1
        case star:
          return greedy(s, p, next)
        case dash:
          return lazy(s, p, next)
        default:
          if (!single(s, p, next)) return -1
          s += 1
          p = next
      }
    }
  }

  function capture(index: number): Capture {
    const start = starts[index] ?? 0
    const length = lengths[index] ?? unfinished
    if (length === position) return start + 1
    if (length === unfinished) throw new LuaFailure('unfinished capture')
    return subject.subarray(start, start + length)
  }

  function matchAt(from: number): Match | undefined {
    level = 0
    depth = 0
    const stop = match(from, 0)
    if (stop < 0) return undefined
    const explicit = Array.from({ length: level }, (_unused, index) => capture(index))
    const captures = level > 0 ? explicit : [subject.subarray(from, stop)]
    return { start: from, end: stop, captures, explicit }
  }

  function find(from: number): Match | number | undefined {
    const pollsBefore = polls
    for (let start = from; start <= end; start += 1) {
      if (polls > pollsBefore) return start
      const found = matchAt(start)
      if (found !== undefined || anchored) return found
    }
    return undefined
  }

  return { find, anchored }
}
