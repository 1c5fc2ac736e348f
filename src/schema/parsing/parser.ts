import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { getOrInsert } from '../../base/get-or-insert.ts'
import { lazily } from '../../base/lazily.ts'
import type { ProblemDetail } from '../../base/problem.ts'
import { errorLimit, firstErrors } from './error-quota.ts'
import { createErrorSearch, type ErrorSearch, findErrors, type SchemaChecks } from './find-errors.ts'
import { escapePointer, pointerSteps } from './json-pointer.ts'

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: ProblemDetail[] }

/**
 * Checks an untrusted value against a schema; all that is wrong is told at once, by JSON pointer. `search`: what may be looked
 * through for that, where several parts of one text are parsed.
 */
export type Parser<T> = (value: unknown, search?: ErrorSearch) => Parsed<T>

// TypeBox stops after eight by itself; an author should see everything that is wrong at once.
Settings.Set({ maxErrors: errorLimit })

interface SchemaError {
  keyword: string
  schemaPath: string
  instancePath: string
  message: string
  params: object
}

/** The part of `schema` that an error speaks of, if it can be found. */
function schemaAt(schema: TSchema, schemaPath: string): object | undefined {
  let node: unknown = schema
  for (const step of pointerSteps(schemaPath)) {
    if (typeof node !== 'object' || node === null) return undefined
    node = Reflect.get(node, step)
  }
  return typeof node === 'object' && node !== null ? node : undefined
}

/** What a pattern or a union asks for in words: its description, or the constants to choose from. */
function expectation(node: object | undefined): string | undefined {
  if (node === undefined) return undefined
  if ('description' in node && typeof node.description === 'string') {
    return node.description.charAt(0).toLowerCase() + node.description.slice(1)
  }
  if (!('anyOf' in node) || !Array.isArray(node.anyOf)) return undefined
  const constants = node.anyOf.map((branch: object) =>
    'const' in branch ? JSON.stringify(branch.const) : '',
  )
  return constants.includes('') ? undefined : `one of ${constants.join(', ')}`
}

function describe(error: SchemaError, schema: TSchema): ProblemDetail[] {
  // A member too many is told twice: of the object, and of the member. The second says which.
  if (error.keyword === 'additionalProperties') return []
  if (error.keyword === 'boolean' && error.schemaPath.endsWith('/additionalProperties')) {
    return [{ path: error.instancePath, message: 'is not known here' }]
  }
  if (
    error.keyword === 'required' &&
    'requiredProperties' in error.params &&
    Array.isArray(error.params.requiredProperties)
  ) {
    return error.params.requiredProperties.map((name) => ({
      path: `${error.instancePath}/${escapePointer(String(name))}`,
      message: 'is required',
    }))
  }
  if (error.keyword === 'const' && 'allowedValue' in error.params) {
    return [{ path: error.instancePath, message: `must be ${JSON.stringify(error.params.allowedValue)}` }]
  }
  const expected =
    error.keyword === 'pattern' || error.keyword === 'anyOf'
      ? expectation(schemaAt(schema, error.schemaPath))
      : undefined
  return [
    { path: error.instancePath, message: expected === undefined ? error.message : `must be ${expected}` },
  ]
}

/** Errors inside the branches of a union say less than the union's own, when that can be put in words. */
function withoutBranches(errors: readonly SchemaError[], schema: TSchema): SchemaError[] {
  const unions = errors.filter(
    ({ keyword, schemaPath }) =>
      keyword === 'anyOf' && expectation(schemaAt(schema, schemaPath)) !== undefined,
  )
  return errors.filter(
    ({ schemaPath, instancePath }) =>
      !unions.some(
        (union) =>
          schemaPath.startsWith(`${union.schemaPath}/anyOf/`) && instancePath.startsWith(union.instancePath),
      ),
  )
}

/** Only whether it fits: to find out what is wrong takes many times as long. */
export function createCheck<S extends TSchema>(schema: S): (value: unknown) => value is Static<S> {
  const validatorOf = lazily(() => Compile(schema))
  return (value): value is Static<S> => validatorOf().Check(value)
}

export function createParser<S extends TSchema>(schema: S): Parser<Static<S>> {
  // Compiled when it is first asked: most are of requests that never come, and a start would wait for all of them.
  const validators = new Map<TSchema, ReturnType<typeof Compile>>()
  const validatorOf = (part: TSchema) => getOrInsert(validators, part, () => Compile(part))
  const questions: SchemaChecks = {
    fits: (part, value) => validatorOf(part).Check(value),
    errorsOf(part, value) {
      const seen = new Set<string>()
      return withoutBranches(validatorOf(part).Errors(value), part)
        .flatMap((error) => describe(error, part))
        .filter(({ path, message }) => !seen.has(`${path} ${message}`) && seen.add(`${path} ${message}`))
    },
  }
  return (value, search = createErrorSearch()) => {
    if (questions.fits(schema, value)) return { ok: true, value: value as Static<S> }
    return { ok: false, errors: firstErrors(findErrors(schema, value, search, questions)) }
  }
}
