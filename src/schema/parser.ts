import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { ProblemDetail } from '../base/problem.ts'

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: ProblemDetail[] }

/** Checks an untrusted value against a schema; all that is wrong is told at once, by JSON pointer. */
export type Parser<T> = (value: unknown) => Parsed<T>

interface SchemaError {
  keyword: string
  instancePath: string
  message: string
  params: object
}

function describe(error: SchemaError): ProblemDetail[] {
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
  return [{ path: error.instancePath, message: error.message }]
}

/** One reference token of a JSON pointer (RFC 6901). */
export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function createParser<S extends TSchema>(schema: S): Parser<Static<S>> {
  const validator = Compile(schema)
  return (value) => {
    if (validator.Check(value)) return { ok: true, value: value as Static<S> }
    const seen = new Set<string>()
    const errors = validator
      .Errors(value)
      .flatMap(describe)
      .filter(({ path, message }) => !seen.has(`${path} ${message}`) && seen.add(`${path} ${message}`))
    return { ok: false, errors }
  }
}
