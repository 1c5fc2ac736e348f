import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../base/json.ts'
import { isSecretName } from '../../base/secret-names.ts'
import type { Field } from '../../schema/field.ts'
import { jsonDepthLimit } from '../../schema/json-text.ts'
import { escapePointer } from '../../schema/parser.ts'
import type { Config } from '../../schema/plugin.ts'

/** Hides secret configuration values from whoever reads them, and puts them back when they are sent back. */

/** What is shown instead of a secret value. */
export const hiddenValue = '********'

/** The configuration as anybody may see it. Nested keys and keys that no field declares are looked at too. */
export function hideSecrets(fields: readonly Field[], config: Config): Config {
  return mapMembers(config, (key, value) => hide(value, isSecret(fields, key, value), 1))
}

/**
 * What a caller sent, with the stored values where it sent the placeholder back. A placeholder for which
 * nothing is stored is removed.
 */
export function restoreSecrets(fields: readonly Field[], incoming: Config, stored: Config): Config {
  return mapMembers(incoming, (key, value) => {
    const before = Object.hasOwn(stored, key) ? stored[key] : undefined
    // Of two values only one says whether the key is a secret's: `true` is not, its placeholder is.
    return restore(value, before, isSecret(fields, key, value) || isSecret(fields, key, before), 1)
  })
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

/** Every secret text or number of a configuration, as text: what no log line may show. */
export function secretValues(fields: readonly Field[], config: Config): string[] {
  const values = new Set<string>()
  const collect = (value: unknown, secret: boolean): void => {
    if (Array.isArray(value)) {
      for (const item of value) collect(item, secret)
    } else if (isJsonObject(value)) {
      for (const [key, member] of Object.entries(value)) collect(member, secret || namesSecret(key, member))
    } else if (secret && (typeof value === 'string' || typeof value === 'number') && value !== '') {
      values.add(String(value))
    }
  }
  for (const [key, value] of Object.entries(config)) collect(value, isSecret(fields, key, value))
  return [...values]
}

export function isSecret(fields: readonly Field[], key: string, value: unknown): boolean {
  const field = fields.find((candidate) => candidate.key === key)
  return field === undefined ? namesSecret(key, value) : field.secret
}

export function namesSecret(key: string, value: unknown): boolean {
  return typeof value !== 'boolean' && isSecretName(key)
}

/** Nothing to hide: to say that it is empty helps the reader. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function hide(value: unknown, secret: boolean, depth: number): unknown {
  if (secret) return isEmpty(value) ? value : hiddenValue
  // `checkConfig` refuses what nests deeper, so this is never stored; recursing on would overflow the stack.
  if (depth > jsonDepthLimit) return hiddenValue
  if (Array.isArray(value)) return value.map((item) => hide(item, false, depth + 1))
  if (!isJsonObject(value)) return value
  return mapMembers(value, (key, member) => hide(member, namesSecret(key, member), depth + 1))
}

/** Stands for "leave it out". */
const absent = Symbol('absent')

function restore(value: unknown, before: unknown, secret: boolean, depth: number): unknown {
  if (secret && value === hiddenValue) return before === undefined ? absent : before
  if (depth > jsonDepthLimit) return value
  if (Array.isArray(value)) return restoreItems(value, Array.isArray(before) ? before : [], depth)
  if (!isJsonObject(value)) return value
  const members: Record<string, unknown> = isJsonObject(before) ? before : {}
  return mapMembers(value, (key, member) => {
    const stored = Object.hasOwn(members, key) ? members[key] : undefined
    return restore(member, stored, namesSecret(key, member) || namesSecret(key, stored), depth + 1)
  })
}

/** Items of a list have no name: one that looks like a stored one is that one, else the place counts. */
function restoreItems(items: readonly unknown[], stored: readonly unknown[], depth: number): unknown[] {
  const shown = stored.map((item) => hide(item, false, depth + 1))
  return items.map((item, index) => {
    const same = isDeepStrictEqual(shown[index], item)
      ? index
      : shown.findIndex((candidate) => isDeepStrictEqual(candidate, item))
    return restore(item, stored[same === -1 ? index : same], false, depth + 1)
  })
}

/** A new object of the same keys; `__proto__` is a key as any other. */
export function mapMembers(
  object: Readonly<Record<string, unknown>>,
  change: (key: string, value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .map(([key, value]) => [key, change(key, value)] as const)
      .filter(([, value]) => value !== absent),
  )
}

/** As `restoreSecrets` where no manifest says what is secret: every placeholder keeps the stored value. */
export function restoreHidden(incoming: Config, stored: Config): Config {
  return mapMembers(incoming, (key, value) =>
    value === hiddenValue && Object.hasOwn(stored, key) ? stored[key] : value,
  )
}
