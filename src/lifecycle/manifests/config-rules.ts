import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../base/text/json.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { jsonDepthLimit } from '../../schema/parsing/json-text.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { isShown } from '../../schema/manifest/show-if.ts'
import type { PluginEnvironment } from '../permissions/plugin-environment.ts'
import { converted, isOfType, kindOf, typeWords, violations } from './field-values.ts'
import { rowsOfText } from './rows-of-text.ts'

/** The rules of configuration values (contract, section 3, "Config check"; plugin API, section 13). Pure. */

interface Findings {
  /** What is wrong with the given values; pointers such as `/config/rules/1/to`. Stops the saving. */
  errors: ProblemDetail[]
  /** Required values that are absent, and environment variables of no use. Stops the load, not the saving. */
  missing: ProblemDetail[]
  /** What goes on without: settings that may not be read from the environment, lines that are no rows. */
  warnings: ProblemDetail[]
}

export interface CheckedConfig extends Findings {
  /** What the plugin gets: the given values, environment and defaults filled in. Only of use without errors. */
  effective: Config
}

interface Checked extends Findings {
  /** Undefined: there is none. */
  value: unknown
}

const nothing: Findings = { errors: [], missing: [], warnings: [] }

/** A value with which nothing is wrong. A list may have tens of thousands, so it is not made of another object. */
const asItIs = (value: unknown): Checked => ({
  errors: nothing.errors,
  missing: nothing.missing,
  warnings: nothing.warnings,
  value,
})

function joined(findings: readonly Findings[]): Findings {
  // Of most there is nothing to tell.
  const telling = findings.filter(
    ({ errors, missing, warnings }) => errors.length > 0 || missing.length > 0 || warnings.length > 0,
  )
  return {
    errors: telling.flatMap(({ errors }) => errors),
    missing: telling.flatMap(({ missing }) => missing),
    warnings: telling.flatMap(({ warnings }) => warnings),
  }
}

/** Checks a configuration and fills it in. `config` may hold anything that JSON can say. */
export function checkConfig(
  fields: readonly Field[],
  config: Config,
  environment: PluginEnvironment,
): CheckedConfig {
  const tooDeep = Object.keys(config).filter((key) => nestsTooDeep(config[key]))
  const message = `nests deeper than ${jsonDepthLimit} levels`
  const errors = tooDeep.map((key) => ({ path: `/config/${escapePointer(key)}`, message }))
  const given =
    tooDeep.length === 0
      ? config
      : Object.fromEntries(Object.entries(config).filter(([key]) => !tooDeep.includes(key)))
  const { value, ...found } = checkMembers(fields, given, '/config', environment)
  return { ...joined([{ ...nothing, errors }, found]), effective: value }
}

/** Such a value could not be written as JSON without overflowing the stack. */
function nestsTooDeep(value: unknown): boolean {
  if (typeof value !== 'object') return false
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === jsonDepthLimit) return true
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    )
  }
  return false
}

/** The members of an object, of a row, or of the whole. Keys that no field declares are kept. */
function checkMembers(
  fields: readonly Field[],
  given: Config,
  path: string,
  environment: PluginEnvironment,
): Findings & { value: Config } {
  const effective = new Map(Object.entries(given))
  const found = fields.map((field) => {
    const checked = checkField(
      field,
      effective.get(field.key),
      `${path}/${escapePointer(field.key)}`,
      environment,
    )
    if (checked.value === undefined) effective.delete(field.key)
    else effective.set(field.key, checked.value)
    return { field, checked }
  })
  const value = Object.fromEntries(effective)
  // Whoever cannot see a field cannot fill it in.
  const counting = found.map(({ field, checked }) =>
    isShown(field, value) ? checked : { ...checked, missing: [] },
  )
  return { ...joined(counting), value }
}

function checkField(field: Field, given: unknown, path: string, environment: PluginEnvironment): Checked {
  if (!isAbsent(given, field)) return checkGiven(field, given, path, environment)
  const refusal = field.env === null ? undefined : environment.refusal(field.env)
  const found = fromEnvironment(field, environment)
  const value = found.value ?? field.default
  if (field.required && found.problems.length === 0 && (value === null || value === '')) {
    return { ...nothing, missing: [{ path, message: whatIsMissing(field, refusal) }], value: undefined }
  }
  const own: Findings = {
    errors: [],
    missing: found.problems.map((message) => ({ path, message })),
    warnings: refusal === undefined ? [] : [{ path, message: `counts as not set: ${refusal}` }],
  }
  if (value === null) return { ...own, value: undefined }
  const filled = checkGiven(field, value, path, environment)
  // Nobody has given it here, so it can be saved all the same.
  return {
    ...joined([own, { ...filled, errors: [], missing: [...filled.missing, ...filled.errors] }]),
    value: filled.value,
  }
}

/** A value that is there. The author's own default is always accepted. */
function checkGiven(field: Field, given: unknown, path: string, environment: PluginEnvironment): Checked {
  const kind = kindOf(field.type)
  if (kind !== 'list' && kind !== 'object') {
    const messages = violations(field, given)
    if (messages.length === 0) return asItIs(given)
    return { ...nothing, errors: messages.map((message) => ({ path, message })), value: given }
  }
  const checked =
    kind === 'list'
      ? checkList(field, given, path, environment)
      : checkObject(field, given, path, environment)
  if (checked.errors.length === 0 || field.default === null) return checked
  const { default: own, ...rules } = field
  const filled = checkGiven({ ...rules, default: null }, own, path, environment)
  return isDeepStrictEqual(filled.value, checked.value) ? { ...checked, errors: [] } : checked
}

function checkObject(field: Field, given: unknown, path: string, environment: PluginEnvironment): Checked {
  if (isJsonObject(given)) return checkMembers(field.fields ?? [], given, path, environment)
  return { ...nothing, errors: [{ path, message: `must be ${typeWords('object')}` }], value: given }
}

function checkList(field: Field, given: unknown, path: string, environment: PluginEnvironment): Checked {
  const carried = typeof given === 'string' ? rowsOfText(field, given) : undefined
  const rows = carried?.rows ?? given
  if (!Array.isArray(rows)) {
    return { ...nothing, errors: [{ path, message: `must be ${typeWords('list')}` }], value: given }
  }
  const unread = carried?.unread.map((message) => ({ path, message })) ?? []
  const checked = rows.map((row: unknown, index) => checkRow(field, row, `${path}/${index}`, environment))
  const own = { ...nothing, errors: countErrors(field, rows.length, path), warnings: unread }
  return { ...joined([own, ...checked]), value: checked.map(({ value }) => value) }
}

function checkRow(
  { items, fields }: Field,
  row: unknown,
  path: string,
  environment: PluginEnvironment,
): Checked {
  if (fields !== null) {
    if (isJsonObject(row)) return checkMembers(fields, row, path, environment)
    return { ...nothing, errors: [{ path, message: 'must be a row, which is an object' }], value: row }
  }
  const type = items?.type ?? null
  const checked = items === null ? asItIs(row ?? undefined) : checkField(items, row, path, environment)
  if (checked.value !== undefined || checked.missing.length > 0) return checked
  // Lua's arrays have no gaps.
  return { ...checked, errors: [{ path, message: `must be ${typeWords(type)}` }], value: row }
}

function countErrors({ minItems, maxItems, fields }: Field, count: number, path: string): ProblemDetail[] {
  const noun = fields === null ? 'value' : 'row'
  const words = (limit: number): string => `${limit} ${limit === 1 ? noun : `${noun}s`}, not ${count}`
  if (minItems !== null && count < minItems)
    return [{ path, message: `must have at least ${words(minItems)}` }]
  if (maxItems !== null && count > maxItems)
    return [{ path, message: `must have at most ${words(maxItems)}` }]
  return []
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
  const value = choice ?? converted(text, field)
  const problems = value === undefined ? [`must be ${typeWords(field.type)}`] : problemsOf(field, value)
  if (problems.length === 0) return { value, problems }
  return { problems: problems.map((message) => `the environment variable ${env} ${message}`) }
}

function problemsOf(field: Field, value: unknown): string[] {
  const nests = field.type === 'list' || field.type === 'object'
  return nests && isOfType(value, field.type) ? [] : violations(field, value)
}
