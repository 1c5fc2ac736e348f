import { isJsonObject } from '../../base/text/json.ts'
import type { ConfigDefinition } from './field-definition.ts'

/** What checking all defaults of one manifest may cost; about a quarter of a second. */
export const defaultCheckCostLimit = 200_000
/** Comparisons with a choice that take as long as one check by a column. */
const choicesForOne = 8

/**
 * What it costs to check the defaults of these settings, where nothing else is set: each value of a default is checked against all that its
 * setting says, so each row against all columns. One unit is the check of one value by one column, about a microsecond.
 */
export function defaultCheckCost(definitions: readonly ConfigDefinition[]): number {
  return definitions.reduce((sum, definition) => sum + workOf(definition), 0)
}

/** Where a row does not have it, the default of its column is checked in each row. */
function workOf({ items, fields = [], enum: choices = [], showIf = {}, ...field }: ConfigDefinition): number {
  const within = defaultCheckCost(items === undefined ? fields : [items, ...fields])
  const compared = choices.length + valuesIn(showIf)
  return (1 + valuesOfDefault(field)) * (1 + compared / choicesForOne + within)
}

function valuesOfDefault({ type, default: value }: ConfigDefinition): number {
  // It may be JSON, or lines that are read as rows: two characters make one at most.
  if (typeof value === 'string' && (type === 'list' || type === 'object')) return value.length / 2
  return valuesIn(value)
}

/** With all that is within. `value`: JSON of a depth that was looked at. */
function valuesIn(value: unknown): number {
  if (value === undefined) return 0
  const members = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : []
  return members.reduce<number>((sum, member) => sum + valuesIn(member), 1)
}
