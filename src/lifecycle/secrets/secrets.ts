import { isJsonObject, mapMembers } from '../../base/text/json.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { jsonDepthLimit } from '../../schema/parsing/json-text.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'
import { type Place, placeOfField, placeOfItem, placeOfMember } from './secret-places.ts'

/** Hides secret configuration values from whoever reads them. */

/** The configuration as anybody may see it. Nested keys and keys that no field declares are looked at too. */
export function hideSecrets(whole: Place, config: Config): Config {
  return mapMembers(config, (value, key) => hide(value, placeOfMember(whole, key, value), 1))
}

/** The default of a field as anybody may see it. */
export function openDefault(field: Field): unknown {
  return field.secret ? null : hide(field.default, placeOfField(field), 1)
}

/** Every secret text or number of a configuration, as text: what no log line may show. */
export function secretValues(whole: Place, config: Config): string[] {
  const values = new Set<string>()
  const collect = (value: unknown, place: Place, secret: boolean): void => {
    if (Array.isArray(value)) {
      for (const item of value) collect(item, placeOfItem(place), secret || placeOfItem(place).secret)
    } else if (isJsonObject(value)) {
      for (const [key, member] of Object.entries(value)) {
        const below = placeOfMember(place, key, member)
        collect(member, below, secret || below.secret)
      }
    } else if (secret && (typeof value === 'string' || typeof value === 'number') && value !== '') {
      values.add(String(value))
    }
  }
  collect(config, whole, false)
  return [...values]
}

/** Nothing to hide: to say that it is empty helps the reader. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function hide(value: unknown, place: Place, depth: number): unknown {
  if (place.secret) return isEmpty(value) ? value : hiddenValue
  // `checkConfig` refuses what nests deeper, so this is never stored; recursing on would overflow the stack.
  if (depth > jsonDepthLimit) return hiddenValue
  if (Array.isArray(value)) return value.map((item) => hide(item, placeOfItem(place), depth + 1))
  if (!isJsonObject(value)) return value
  return mapMembers<unknown>(value, (member, key) =>
    hide(member, placeOfMember(place, key, member), depth + 1),
  )
}

/** An address without its `user:password@`, and of the web without its query, which may hold a token: as it may be shown. */
export function withoutCredentials(address: string): string {
  return address
    .replace(/^([a-z][a-z0-9+.-]*:[/\\]{2,})[^/?#\\]*@/i, '$1')
    .replace(/^(https?:[^?#]*)[?#].*$/is, '$1')
}
