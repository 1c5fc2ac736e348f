import { isSecretName } from '../../base/secret-names.ts'
import type { Field } from '../../schema/manifest/field.ts'

/** Which places of a configuration hold secrets: by their fields, at any depth, or by their names. Pure. */

export interface Place {
  secret: boolean
  /** What is declared below it: members of an object, or columns of the rows of a list. */
  fields: readonly Field[] | null
  /** What the values of a list are. */
  items: Field | null
  isList: boolean
}

const undeclared: Place = { secret: false, fields: null, items: null, isList: false }

export function wholeConfig(fields: readonly Field[]): Place {
  return { ...undeclared, fields }
}

export function placeOfField({ secret, type, fields, items }: Field): Place {
  return { secret, fields, items, isList: type === 'list' }
}

/** `values`: those that are, or were, there. Of two only one may say whether the key is a secret's. */
export function placeOfMember({ fields }: Place, key: string, ...values: unknown[]): Place {
  const field = fields?.find((candidate) => candidate.key === key)
  if (field !== undefined) return placeOfField(field)
  return { ...undeclared, secret: values.some((value) => namesSecret(key, value)) }
}

/** Of each item of a list. */
export function placeOfItem({ fields, items, isList }: Place): Place {
  if (items !== null) return placeOfField(items)
  return isList ? { ...undeclared, fields } : undeclared
}

export function namesSecret(key: string, value: unknown): boolean {
  return typeof value !== 'boolean' && isSecretName(key)
}
