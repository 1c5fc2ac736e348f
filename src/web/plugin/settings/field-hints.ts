import type { Field, Plugin } from '../../base/types.ts'
import { valueText } from '../../base/words.ts'

/** What stands below a setting. Pure. */

export function hintsFor(field: Field, value: unknown, effective: unknown): string[] {
  const { description, min, max, minItems, maxItems, env } = field
  const result: string[] = []
  if (description !== null) result.push(description.replace(/[^.!?]$/, '$&.'))
  result.push(
    ...bounds(min, max, ''),
    ...bounds(minItems, maxItems, field.fields === null ? ' values' : ' rows'),
  )
  const nests = field.type === 'list' || field.type === 'object'
  if (field.default !== null && !nests)
    result.push(`Default: ${field.default === '' ? 'empty' : valueText(field.default)}.`)
  if (env === null) return result
  const isUnset = value === undefined || value === ''
  const found = isUnset && effective !== undefined && effective !== field.default
  result.push(
    found
      ? `Now from the environment variable ${env}: ${valueText(effective)}.`
      : `When empty, the environment variable ${env} is used.`,
  )
  return result
}

function bounds(least: number | null, most: number | null, noun: string): string[] {
  if (least !== null && most !== null) return [`From ${least} to ${most}${noun}.`]
  if (least !== null) return [`At least ${least}${noun}.`]
  return most === null ? [] : [`At most ${most}${noun}.`]
}

/** A variable that could be read, were it allowed. Where it is required, the message below the field says so. */
export function unreadVariable(plugin: Plugin, pointer: string, { required }: Field): string[] {
  const path = pointer.replace('/config/', '').replaceAll(/\/\d+/g, '[]').replaceAll('/', '.')
  const refused = plugin.environment.refused.find(({ key }) => key === path)
  return refused === undefined || required ? [] : [`Not from the environment: ${refused.message}.`]
}
