import { isSecretName } from '../../base/log/secret-names.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import type { Field } from '../../schema/manifest/field.ts'
import type { ConfigDefinition } from '../../schema/manifest/field-definition.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import { firstErrors } from '../../schema/parsing/error-quota.ts'
import { converted, defaultOf, typeWords } from './field-values.ts'

/**
 * `configSchema` and `config` as one list, in the order of the form. Where both describe a key, they are
 * merged, and `config`, the format with validation, has the last word.
 */
export function normaliseFields(manifest: Pick<Manifest, 'configSchema' | 'config'>): Field[] {
  const definitions = new Map<string, ConfigDefinition>()
  for (const { key, ...entry } of manifest.configSchema ?? []) definitions.set(key, entry)
  for (const [key, definition] of Object.entries(manifest.config ?? {})) {
    definitions.set(key, { ...definitions.get(key), ...definition })
  }
  return [...definitions].map(([key, definition]) => normaliseField(key, definition))
}

function normaliseField(key: string, definition: ConfigDefinition): Field {
  const type = definition.type ?? null
  const isList = type === 'list'
  const fields =
    isList || type === 'object'
      ? (definition.fields?.map(({ key: name, ...field }) => normaliseField(name, field)) ?? null)
      : null
  const items =
    isList && fields === null && definition.items !== undefined ? normaliseField('', definition.items) : null
  const rules = { type, items, fields, enum: null }
  const choices = definition.enum?.map((choice) => converted(choice, rules) ?? choice) ?? null
  return {
    key,
    type,
    label: definition.label || key,
    description: definition.description ?? null,
    required: definition.required ?? false,
    default: defaultOf(definition.default, { ...rules, enum: choices }),
    min: definition.min ?? null,
    max: definition.max ?? null,
    enum: choices,
    env: definition.env || null,
    // A switch is no secret, whatever its name (`useAuth`); hidden, it could not be shown in a form.
    secret: definition.secret ?? (type === 'password' || (type !== 'boolean' && isSecretName(key))),
    items,
    fields,
    minItems: isList ? (definition.minItems ?? null) : null,
    maxItems: isList ? (definition.maxItems ?? null) : null,
    suggest: definition.suggest ?? null,
    placeholder: definition.placeholder ?? null,
    unit: definition.unit ?? null,
    group: definition.group ?? null,
    advanced: definition.advanced ?? null,
    showIf: definition.showIf ?? null,
    lines: isList ? (definition.lines ?? null) : null,
  }
}

/** The defaults that count as none, as they cannot be brought to the type of their field: each by its place in the manifest. */
export function unusableDefaults(manifest: Pick<Manifest, 'configSchema' | 'config'>): ProblemDetail[] {
  const { configSchema = [], config = {} } = manifest
  const listed = new Map(configSchema.map(({ key, ...entry }, index) => [key, { entry, index }]))
  const defined = new Map(Object.entries(config))
  const keys = new Set([...listed.keys(), ...defined.keys()])
  return firstErrors(
    [...keys].flatMap((key) => {
      const [{ entry = {}, index = 0 } = {}, definition = {}] = [listed.get(key), defined.get(key)]
      return unusableIn({ ...entry, ...definition }, (member) =>
        definition[member] === undefined ? `/configSchema/${index}` : `/config/${escapePointer(key)}`,
      )
    }),
  )
}

/** `placeOf`: where a member of the definition stands. */
function unusableIn(
  definition: ConfigDefinition,
  placeOf: (member: 'default' | 'items' | 'fields') => string,
): ProblemDetail[] {
  const { default: given = null, items, fields = [] } = definition
  const isSaid = given !== null && !(typeof given === 'string' && given.trim() === '')
  const field = normaliseField('', definition)
  const message = `must be ${typeWords(field.type)}; it is left out`
  return [
    ...(isSaid && field.default === null ? [{ path: `${placeOf('default')}/default`, message }] : []),
    ...(items === undefined ? [] : unusableIn(items, () => `${placeOf('items')}/items`)),
    ...fields.flatMap((column, index) => unusableIn(column, () => `${placeOf('fields')}/fields/${index}`)),
  ]
}
