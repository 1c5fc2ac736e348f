import type { Json } from './json.ts'

/** Bytes that a value's own bookkeeping takes, roughly: a number, a comma, a pair of quotes. */
export const valueOverhead = 8

/** Roughly the bytes that a JSON value takes in a message; cheap enough to ask of every one. */
export function approximateSize(value: Json | undefined): number {
  if (typeof value === 'string') return valueOverhead + value.length
  if (typeof value !== 'object' || value === null) return valueOverhead
  let size = valueOverhead
  if (Array.isArray(value)) {
    for (const element of value) size += approximateSize(element)
  } else {
    for (const key of Object.keys(value)) size += valueOverhead + key.length + approximateSize(value[key])
  }
  return size
}
