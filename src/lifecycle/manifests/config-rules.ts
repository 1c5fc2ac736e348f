import { isDeepStrictEqual } from 'node:util'
import type { ProblemDetail } from '../../base/problem.ts'
import { isSecretName } from '../../base/secret-names.ts'
import type { Field } from '../../schema/field.ts'
import { jsonDepthLimit } from '../../schema/json-text.ts'
import type { ConfigDefinition, FieldType, Manifest } from '../../schema/manifest.ts'
import { escapePointer } from '../../schema/parser.ts'
import type { Config } from '../../schema/plugin.ts'
import type { PluginEnvironment } from '../permissions/plugin-environment.ts'

/** The rules of configuration values (contract, section 3, "Config check"). Pure. */

export interface CheckedConfig {
  /** What is wrong with the given values; pointers such as `/config/interval`. Stops the saving. */
  errors: ProblemDetail[]
  /** Required values that are absent, and environment variables of no use. Stops the load, not the saving. */
  missing: ProblemDetail[]
  /** Settings that nobody has set and that may not be read from the environment; they go on without. */
  warnings: ProblemDetail[]
  /** What the plugin gets: the given values, environment and defaults filled in. Only of use without errors. */
  effective: Config
}

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
  const choices = definition.enum?.map((choice) => converted(choice, type) ?? choice) ?? null
  return {
    key,
    type,
    label: definition.label || key,
    description: definition.description ?? null,
    required: definition.required ?? false,
    default: defaultOf(definition.default, type, choices),
    min: definition.min ?? null,
    max: definition.max ?? null,
    enum: choices,
    env: definition.env || null,
    // A switch is no secret, whatever its name (`useAuth`); hidden, it could not be shown in a form.
    secret: definition.secret ?? (type === 'password' || (type !== 'boolean' && isSecretName(key))),
  }
}

/** A default that cannot be brought to the field's type is none. */
function defaultOf(value: unknown, type: FieldType | null, choices: readonly unknown[] | null): unknown {
  if (value === undefined || value === null) return null
  if (kindOf(type) !== null) return converted(value, type) ?? null
  return choices?.find((choice) => typeof value === 'string' && String(choice) === value) ?? value
}

/** What a value of a field is to Lua; null: any of its choices. */
function kindOf(type: FieldType | null): 'string' | 'number' | 'boolean' | null {
  if (type === 'text' || type === 'password') return 'string'
  if (type === 'integer') return 'number'
  return type === 'select' ? null : type
}

/** The value in the type of its field, if it says one: text becomes a number or a boolean, and back. */
function converted(value: unknown, type: FieldType | null): unknown {
  const kind = kindOf(type)
  if (kind === null || isOfType(value, type)) return value
  if (kind === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (kind === 'number') {
    const number = Number(text)
    return text !== '' && isOfType(number, type) ? number : undefined
  }
  if (/^(true|1|yes|on)$/i.test(text)) return true
  return /^(false|0|no|off)$/i.test(text) ? false : undefined
}

function isOfType(value: unknown, type: FieldType | null): boolean {
  if (type === 'integer') return Number.isInteger(value)
  const kind = kindOf(type)
  return kind === 'number' ? Number.isFinite(value) : kind === null || typeof value === kind
}

/** Completes "must be". */
function typeWords(type: FieldType | null): string {
  return type === 'integer' ? 'a whole number' : `a ${kindOf(type)}`
}

/** Checks a configuration and fills it in. `config` may hold anything that JSON can say. */
export function checkConfig(
  fields: readonly Field[],
  config: Config,
  environment: PluginEnvironment,
): CheckedConfig {
  const errors: ProblemDetail[] = []
  const missing: ProblemDetail[] = []
  const warnings: ProblemDetail[] = []
  const effective = new Map(Object.entries(config))
  for (const [key, value] of effective) {
    if (nestsTooDeep(value)) {
      errors.push({
        path: `/config/${escapePointer(key)}`,
        message: `nests deeper than ${jsonDepthLimit} levels`,
      })
      effective.delete(key)
    }
  }
  for (const field of fields) {
    const path = `/config/${escapePointer(field.key)}`
    const given = effective.get(field.key)
    if (!isAbsent(given, field)) {
      errors.push(...violations(field, given).map((message) => ({ path, message })))
      continue
    }
    effective.delete(field.key)
    const refusal = field.env === null ? undefined : environment.refusal(field.env)
    const found = fromEnvironment(field, environment)
    missing.push(...found.problems.map((message) => ({ path, message })))
    const value = found.value ?? field.default
    if (value !== null && value !== undefined) effective.set(field.key, value)
    if (field.required && found.problems.length === 0 && (value === null || value === '')) {
      effective.delete(field.key)
      missing.push({ path, message: whatIsMissing(field, refusal) })
    } else if (refusal !== undefined) warnings.push({ path, message: `counts as not set: ${refusal}` })
  }
  return { errors, missing, warnings, effective: Object.fromEntries(effective) }
}

/** Such a value could not be written as JSON without overflowing the stack. */
function nestsTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === jsonDepthLimit) return true
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    )
  }
  return false
}

/** An empty text is what a form sends for a field left alone: no value, where something else could be. */
function isAbsent(value: unknown, field: Field): boolean {
  if (value === undefined || value === null) return true
  return value === '' && (field.required || field.env !== null)
}

function whatIsMissing({ env }: Field, refusal: string | undefined): string {
  if (refusal !== undefined) return `is required; set it here: ${refusal}`
  return env === null ? 'is required' : `is required; set it here or in the environment variable ${env}`
}

function fromEnvironment(
  field: Field,
  environment: PluginEnvironment,
): { value?: unknown; problems: string[] } {
  const { env } = field
  const text = env === null ? undefined : environment.read(env)
  if (text === undefined || text === '') return { problems: [] }
  const choice =
    kindOf(field.type) === null ? field.enum?.find((candidate) => String(candidate) === text) : undefined
  const value = choice ?? converted(text, field.type)
  const problems = value === undefined ? [`must be ${typeWords(field.type)}`] : violations(field, value)
  if (problems.length === 0) return { value, problems }
  return { problems: problems.map((message) => `the environment variable ${env} ${message}`) }
}

/** Rests of sentences about `value`. The author's own default is always accepted. */
function violations(field: Field, value: unknown): string[] {
  const { type, min, max } = field
  if (field.default !== null && isDeepStrictEqual(value, field.default)) return []
  if (!isOfType(value, type)) return [`must be ${typeWords(type)}`]
  const messages: string[] = []
  if (typeof value === 'number') {
    if (min !== null && value < min) messages.push(`must be at least ${min}`)
    if (max !== null && value > max) messages.push(`must be at most ${max}`)
  }
  if (field.enum !== null && !field.enum.some((choice) => isDeepStrictEqual(choice, value))) {
    messages.push(`must be one of ${field.enum.map((choice) => JSON.stringify(choice)).join(', ')}`)
  }
  return messages
}
