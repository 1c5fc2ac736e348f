import { isSecretName } from '../../base/log/secret-names.ts'
import type { Field } from '../../schema/manifest/field.ts'
import type { ConfigDefinition } from '../../schema/manifest/field-definition.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { converted, defaultOf } from './field-values.ts'

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
