import { getOrInsert } from '../../base/get-or-insert.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { isSecretName } from '../../base/log/secret-names.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { holdsSecret } from '../../schema/manifest/holds-secret.ts'
import { escapePointer, unescapePointer } from '../../schema/parsing/json-pointer.ts'
import type { Config } from '../../schema/plugin/plugin.ts'

/** Which places of a configuration hold secrets: by their fields, at any depth, or by their names. Pure. */

/** What versions before the present one have declared a secret, by the keys that lead there; `true`: all of it. */
type FormerSecrets = ReadonlyMap<string, FormerSecrets | true>

export interface Place {
  secret: boolean
  /** Of what is within it. */
  former: FormerSecrets | undefined
  /** What is declared below it: members of an object, or columns of the rows of a list. */
  fields: readonly Field[] | null
  /** What the values of a list are. */
  items: Field | null
  isList: boolean
}

const undeclared: Place = { secret: false, former: undefined, fields: null, items: null, isList: false }

/** `formerSecrets`: pointers, as `secretPaths` gives them. What `fields` declare counts for more. */
export function wholeConfig(fields: readonly Field[], formerSecrets: readonly string[] = []): Place {
  return { ...undeclared, fields, former: treeOf(formerSecrets) }
}

/** JSON pointers to everything that fields declare a secret. The items of a list have no step of their own in them. */
export function secretPaths(fields: readonly Field[], path = ''): string[] {
  return fields.flatMap((field) => pathsWithin(field, `${path}/${escapePointer(field.key)}`))
}

function pathsWithin({ secret, fields, items }: Field, path: string): string[] {
  if (secret) return [path]
  return items === null ? secretPaths(fields ?? [], path) : pathsWithin(items, path)
}

/** The same to every text and number that there is: where nobody knows what was declared, each may be a secret. */
export function possibleSecretPaths(config: Config): string[] {
  const paths = new Set<string>()
  const collect = (value: unknown, path: string): void => {
    if (typeof value === 'string' || typeof value === 'number') paths.add(path)
    else if (Array.isArray(value)) for (const item of value) collect(item, path)
    else if (isJsonObject(value))
      for (const [key, member] of Object.entries(value)) collect(member, `${path}/${escapePointer(key)}`)
  }
  collect(config, '')
  return [...paths]
}

function treeOf(paths: readonly string[]): FormerSecrets | undefined {
  if (paths.length === 0) return undefined
  const below = new Map<string, string[]>()
  for (const path of paths) {
    const [key = '', ...rest] = path.slice(1).split('/')
    getOrInsert(below, key, () => []).push(rest.length === 0 ? '' : `/${rest.join('/')}`)
  }
  return new Map(
    [...below].map(([key, within]) => [
      unescapePointer(key),
      within.includes('') ? true : (treeOf(within) ?? true),
    ]),
  )
}

export function placeOfField({ secret, type, fields, items }: Field): Place {
  return { secret, former: undefined, fields, items, isList: type === 'list' }
}

/** `values`: those that are, or were, there. Of two only one may say whether the key is a secret's. */
export function placeOfMember({ fields, former }: Place, key: string, ...values: unknown[]): Place {
  const field = fields?.find((candidate) => candidate.key === key)
  const wasSecret = former?.get(key)
  const within = wasSecret === true ? undefined : wasSecret
  if (field !== undefined) {
    const isSecretText = isText(field, values) && (wasSecret !== undefined || holdsSecret(field))
    return { ...placeOfField(field), secret: field.secret || isSecretText, former: within }
  }
  // A text where there was a structure may be that structure, as a person writes it.
  const wasStructure = within !== undefined && values.some((value) => typeof value === 'string')
  const isNamed = values.some((value) => namesSecret(key, value))
  return { ...undeclared, secret: wasSecret === true || wasStructure || isNamed, former: within }
}

/** Of each item of a list. */
export function placeOfItem({ fields, items, isList, former }: Place): Place {
  if (items !== null) return { ...placeOfField(items), former }
  return { ...undeclared, former, fields: isList ? fields : null }
}

/** A list that was a text, or is written as one, is that text until all of it can be read as rows. */
function isText({ type }: Field, values: readonly unknown[]): boolean {
  return (type === 'list' || type === 'object') && values.some((value) => typeof value === 'string')
}

export function namesSecret(key: string, value: unknown): boolean {
  return typeof value !== 'boolean' && isSecretName(key)
}
