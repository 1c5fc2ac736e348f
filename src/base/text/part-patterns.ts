import { getOrInsert } from '../get-or-insert.ts'
import { partsOfName, partsOfPattern } from './part-pattern.ts'

/**
 * Many patterns, as `partPattern` takes them. A question takes a step for each part of the name and 32 patterns, whatever
 * they are.
 */
export interface PartPatterns {
  readonly size: number
  /** Throws `Error` when it has too many parts. */
  add(pattern: string): void
  /** Answers whether it was there. */
  delete(pattern: string): boolean
  /** Whether one of them means the name. */
  matches(name: string): boolean
}

/** A set of the numbers of patterns, a bit each. */
type Bits = Uint32Array

/** One part of all patterns of a length. */
interface Place {
  /** Those with `*` here. */
  any: Bits
  /** Those with this text here: their numbers, or bits where those take less memory. */
  same: Map<string, number[] | Many>
}

interface Many {
  bits: Bits
  count: number
}

/** Patterns of as many parts. */
interface OfLength {
  numbers: Map<string, number>
  present: Bits
  /** Numbers below `numbers.size + free.length` that no pattern has. */
  free: number[]
  places: Place[]
}

const wordBits = 32

const createBits = (words: number): Bits => new Uint32Array(words)
const put = (bits: Bits, number: number): void => {
  const word = Math.floor(number / wordBits)
  bits[word] = (bits[word] ?? 0) | (1 << (number % wordBits))
}
const drop = (bits: Bits, number: number): void => {
  const word = Math.floor(number / wordBits)
  bits[word] = (bits[word] ?? 0) & ~(1 << (number % wordBits))
}
const has = (bits: Bits, number: number): boolean =>
  ((bits[Math.floor(number / wordBits)] ?? 0) & (1 << (number % wordBits))) !== 0

function createOfLength(parts: number): OfLength {
  const places = Array.from({ length: parts }, () => ({ any: createBits(1), same: new Map() }))
  return { numbers: new Map(), present: createBits(1), free: [], places }
}

/** Makes room for twice as many. */
function widen(of: OfLength): void {
  const wider = (bits: Bits): Bits => {
    const copy = createBits(bits.length * 2)
    copy.set(bits)
    return copy
  }
  of.present = wider(of.present)
  for (const place of of.places) {
    place.any = wider(place.any)
    for (const [part, those] of place.same) {
      if (Array.isArray(those)) continue
      those.bits = wider(those.bits)
      narrow(place, part, those)
    }
  }
}

/** Takes numbers for bits again where those are far less: else each text that many had once would keep room for all patterns. */
function narrow({ same }: Place, part: string, { bits, count }: Many): void {
  if (count > bits.length / 2) return
  const numbers: number[] = []
  for (let number = 0; numbers.length < count; number += 1) if (has(bits, number)) numbers.push(number)
  same.set(part, numbers)
}

function insert(of: OfLength, pattern: string, parts: readonly string[]): void {
  const number = of.free.pop() ?? of.numbers.size
  if (number === of.present.length * wordBits) widen(of)
  of.numbers.set(pattern, number)
  put(of.present, number)
  for (const [index, { any, same }] of of.places.entries()) {
    const part = parts[index] ?? ''
    if (part === '*') {
      put(any, number)
      continue
    }
    const those = getOrInsert(same, part, () => [])
    if (!Array.isArray(those)) {
      put(those.bits, number)
      those.count += 1
    } else if (those.push(number) > of.present.length) {
      const bits = createBits(of.present.length)
      for (const one of those) put(bits, one)
      same.set(part, { bits, count: those.length })
    }
  }
}

function remove(of: OfLength, pattern: string, number: number, parts: readonly string[]): void {
  of.numbers.delete(pattern)
  of.free.push(number)
  drop(of.present, number)
  for (const [index, place] of of.places.entries()) {
    const { any, same } = place
    const part = parts[index] ?? ''
    const those = same.get(part) ?? []
    if (part === '*') drop(any, number)
    else if (!Array.isArray(those)) {
      drop(those.bits, number)
      those.count -= 1
      if (those.count === 0) same.delete(part)
      else narrow(place, part, those)
    } else if (those.length === 1) same.delete(part)
    else those.splice(those.indexOf(number), 1)
  }
}

/** Whether there is one that has this part at each place. */
function isMeant({ present, places }: OfLength, parts: readonly string[]): boolean {
  let left = present
  for (const [index, { any, same }] of places.entries()) {
    const those = same.get(parts[index] ?? '') ?? []
    const bits = Array.isArray(those) ? undefined : those.bits
    const next = createBits(left.length)
    let some = 0
    for (let word = 0; word < next.length; word += 1) {
      const wanted = (any[word] ?? 0) | (bits?.[word] ?? 0)
      const still = (left[word] ?? 0) & wanted
      next[word] = still
      some |= still
    }
    if (Array.isArray(those))
      for (const number of those) {
        if (!has(left, number)) continue
        put(next, number)
        some = 1
      }
    if (some === 0) return false
    left = next
  }
  return true
}

export function createPartPatterns(separator: string): PartPatterns {
  const lengths = new Map<number, OfLength>()
  let size = 0

  return {
    get size() {
      return size
    },
    add(pattern) {
      const parts = partsOfPattern(pattern, separator)
      const of = getOrInsert(lengths, parts.length, () => createOfLength(parts.length))
      if (of.numbers.has(pattern)) return
      insert(of, pattern, parts)
      size += 1
    },
    delete(pattern) {
      const parts = pattern.split(separator)
      const of = lengths.get(parts.length)
      const number = of?.numbers.get(pattern)
      if (of === undefined || number === undefined) return false
      remove(of, pattern, number, parts)
      if (of.numbers.size === 0) lengths.delete(parts.length)
      size -= 1
      return true
    },
    matches(name) {
      const parts = partsOfName(name, separator)
      const of = lengths.get(parts.length)
      return of !== undefined && isMeant(of, parts)
    },
  }
}
