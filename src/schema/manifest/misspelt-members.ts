import { closestName } from '../../base/text/closest-name.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/text/json.ts'
import { escapePointer } from '../parsing/json-pointer.ts'

interface Schema {
  properties: object
}

/** A short name is close to another one by chance. */
const shortest = 5
/** Members of the manifest, or of its permissions, that are looked at: each takes long, and a hostile manifest has tens of thousands. */
const mostMembers = 100
/** Of all fields together. */
const mostOfFields = 2_000

/**
 * Members that are not known, and nearly are. A manifest may have members of its own, which nobody reads: `permission`
 * would forbid nothing, without a word.
 */
export function misspeltMembers(
  manifest: JsonObject,
  known: Record<'manifest' | 'permissions' | 'field', Schema>,
): ProblemDetail[] {
  const { permissions, configSchema } = manifest
  const fields = Array.isArray(configSchema) ? configSchema : []
  const left = { members: mostOfFields }
  return [
    ...misspelt(manifest, known.manifest, '', shortest),
    // Nobody has permissions of their own.
    ...misspelt(permissions, known.permissions, '/permissions', 1),
    ...fields.flatMap((field, index) =>
      misspelt(field, known.field, `/configSchema/${index}`, shortest, left),
    ),
  ]
}

function misspelt(
  value: Json | undefined,
  { properties }: Schema,
  path: string,
  least: number,
  left = { members: mostMembers },
): ProblemDetail[] {
  if (!isJsonObject(value)) return []
  const known = Object.keys(properties)
  const unknown = Object.keys(value).filter((name) => !known.includes(name) && name.length >= least)
  const looked = unknown.slice(0, left.members)
  left.members -= looked.length
  return looked.flatMap((name) => {
    const near = closestName(name, known)
    if (near === undefined) return []
    return [{ path: `${path}/${escapePointer(name)}`, message: `is not known; did you mean: "${near}"?` }]
  })
}
