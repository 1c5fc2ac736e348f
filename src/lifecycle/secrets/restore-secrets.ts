import { getOrInsert } from '../../base/get-or-insert.ts'
import { isJsonObject, mapMembers } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import { jsonDepthLimit } from '../../schema/parsing/json-text.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'
import { type Place, placeOfItem, placeOfMember } from './secret-places.ts'
import { isEmpty } from './secrets.ts'

/** Puts secrets back where a caller has sent their placeholder. */

export interface RestoredConfig {
  config: Config
  /** Placeholders in rows of which nobody can say what they stand for. */
  errors: ProblemDetail[]
}

/** What is stored where a value is to go. */
interface Stored {
  values: readonly unknown[]
  /** Why that is not one place; undefined when it is. */
  doubt: 'none' | 'several' | undefined
}

/**
 * What a caller sent, with the stored values where it sent the placeholder back. A placeholder for which nothing is
 * stored is removed. Rows have no name: one is the stored row whose open values are the same, wherever it now is.
 */
export function restoreSecrets(place: Place, incoming: Config, stored: Config): RestoredConfig {
  const errors: ProblemDetail[] = []

  function restore(value: unknown, place: Place, before: Stored, path: string, depth: number): unknown {
    const [first] = before.values
    if (place.secret && value === hiddenValue) {
      if (before.doubt === undefined) return first
      errors.push({ path, message: `must be the value itself: ${doubts[before.doubt]}` })
      return value
    }
    if (depth > jsonDepthLimit) return value
    if (Array.isArray(value)) return restoreRows(value, place, before, path, depth)
    if (!isJsonObject(value)) return value
    return mapMembers<unknown>(value, (member, key) => {
      const values = before.values.flatMap((one) =>
        isJsonObject(one) && Object.hasOwn(one, key) ? [one[key]] : [],
      )
      const below = placeOfMember(place, key, member, ...values)
      return restore(member, below, { ...before, values }, `${path}/${escapePointer(key)}`, depth + 1)
    })
  }

  function restoreRows(
    rows: readonly unknown[],
    place: Place,
    before: Stored,
    path: string,
    depth: number,
  ): unknown[] {
    const below = placeOfItem(place)
    const pool = before.values.flatMap((value): unknown[] => (Array.isArray(value) ? value : []))
    const restoreRow = (row: unknown, index: number, from: Stored): unknown =>
      restore(row, below, from, `${path}/${index}`, depth + 1)
    if (below.secret) {
      const hidden = rows.flatMap((row, index) => (row === hiddenValue ? [index] : []))
      // Values without anything beside them: all of them are still there, in their order, or nobody knows which.
      const doubt = hidden.length === pool.length ? undefined : doubtOf(pool)
      return rows.map((row, index) =>
        restoreRow(row, index, { values: doubt === undefined ? [pool[hidden.indexOf(index)]] : [], doubt }),
      )
    }
    const known = new Map<string, unknown[]>()
    if (rows.some((row) => hasPlaceholder(row, below, depth))) {
      for (const row of pool) getOrInsert(known, openText(row, below, depth), () => []).push(row)
    }
    return rows.map((row, index) => {
      if (!hasPlaceholder(row, below, depth)) return row
      const alike = known.get(openText(row, below, depth)) ?? []
      const matching = alike.filter((candidate) => hasSecrets(candidate, row, below))
      const doubt = matching.length === 1 ? undefined : doubtOf(matching)
      // Rows within it may be known by themselves.
      return restoreRow(row, index, { values: matching.length > 0 ? matching : pool, doubt })
    })
  }

  const whole = { values: [stored], doubt: undefined }
  const config = restore(incoming, place, whole, '/config', 0) as Config
  return { config, errors }
}

function doubtOf(candidates: readonly unknown[]): 'none' | 'several' {
  return candidates.length === 0 ? 'none' : 'several'
}

const doubts = {
  none: `no stored row has the other values of this one, so ${hiddenValue} stands for nothing`,
  several: `several stored rows have the other values of this one, so ${hiddenValue} may be any of theirs`,
}

function hasPlaceholder(value: unknown, place: Place, depth: number): boolean {
  if (place.secret) return value === hiddenValue
  if (depth > jsonDepthLimit) return false
  if (Array.isArray(value)) return value.some((item) => hasPlaceholder(item, placeOfItem(place), depth + 1))
  if (!isJsonObject(value)) return false
  return Object.entries(value).some(([key, member]) =>
    hasPlaceholder(member, placeOfMember(place, key, member), depth + 1),
  )
}

/** Whether a stored row with the same open values has a secret wherever the placeholder stands. */
function hasSecrets(stored: unknown, row: unknown, place: Place): boolean {
  if (place.secret) return row !== hiddenValue || !isEmpty(stored)
  if (Array.isArray(row)) {
    return row.every((item, index) =>
      hasSecrets(Array.isArray(stored) ? stored[index] : undefined, item, placeOfItem(place)),
    )
  }
  if (!isJsonObject(row)) return true
  return Object.entries(row).every(([key, member]) => {
    const before = isJsonObject(stored) && Object.hasOwn(stored, key) ? stored[key] : undefined
    return hasSecrets(before, member, placeOfMember(place, key, member, before))
  })
}

/** What is open in a value, as text; the same for the same members in any order. */
function openText(value: unknown, place: Place, depth: number): string {
  if (place.secret || depth > jsonDepthLimit) return ''
  if (Array.isArray(value)) {
    return `[${value.map((item) => openText(item, placeOfItem(place), depth + 1)).join()}]`
  }
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value)
    .map(([key, member]) => [key, placeOfMember(place, key, member), member] as const)
    .filter(([, below, member]) => !below.secret && member !== null)
    .map(([key, below, member]) => `${JSON.stringify(key)}:${openText(member, below, depth + 1)}`)
  return `{${members.sort().join()}}`
}

/**
 * Pointers below `path` to the placeholders of what a caller sent in whose place there is a stored value now. `restored`
 * is what `restoreSecrets` or `restoreHidden` made of it.
 */
export function restoredPlaces(incoming: unknown, restored: unknown, path: string): string[] {
  if (incoming === hiddenValue) return restored === hiddenValue || restored === undefined ? [] : [path]
  if (Array.isArray(incoming) && Array.isArray(restored)) {
    return incoming.flatMap((item, index) => restoredPlaces(item, restored[index], `${path}/${index}`))
  }
  if (!isJsonObject(incoming) || !isJsonObject(restored)) return []
  return Object.entries(incoming).flatMap(([key, value]) =>
    restoredPlaces(
      value,
      Object.hasOwn(restored, key) ? restored[key] : undefined,
      `${path}/${escapePointer(key)}`,
    ),
  )
}

/** As `restoreSecrets` where no manifest says what is secret: every placeholder keeps the stored value, or is removed. */
export function restoreHidden(incoming: Config, stored: Config): Config {
  return mapMembers(incoming, (value, key) => {
    if (value !== hiddenValue) return value
    return Object.hasOwn(stored, key) ? stored[key] : undefined
  })
}

/**
 * What somebody sent for whom nothing is stored: placeholders stand for nothing, and are left out. `places`: pointers to
 * them. `whole`: undefined where no manifest says what is secret.
 */
export function withoutPlaceholders(
  whole: Place | undefined,
  incoming: Config,
): { config: Config; places: string[] } {
  const places: string[] = []

  function open(value: unknown, place: Place | undefined, path: string, depth: number): unknown {
    if (value === hiddenValue && (place?.secret ?? true)) {
      places.push(path)
      return undefined
    }
    if (depth > jsonDepthLimit) return value
    if (Array.isArray(value)) {
      const below = place && placeOfItem(place)
      return value
        .map((item, index) => open(item, below, `${path}/${index}`, depth + 1))
        .filter((item) => item !== undefined)
    }
    if (!isJsonObject(value)) return value
    return mapMembers<unknown>(value, (member, key) =>
      open(member, place && placeOfMember(place, key, member), `${path}/${escapePointer(key)}`, depth + 1),
    )
  }

  const config = open(incoming, whole, '/config', 0) as Config
  return { config, places }
}
