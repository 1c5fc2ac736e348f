import type { Field } from './field.ts'

// Without schemas, so that the pages can use it too.

/** Whether a field is a secret, or something within it is, at any depth. */
export function holdsSecret({ secret, items, fields }: Field): boolean {
  return secret || (items !== null && holdsSecret(items)) || (fields?.some(holdsSecret) ?? false)
}
