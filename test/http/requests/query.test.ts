import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import type { Problem } from '../../../src/base/problem.ts'
import { createQueryParser } from '../../../src/http/requests/query.ts'

test('a query is read by its schema, and every bad parameter is named at once', () => {
  const parse = createQueryParser(
    Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
      level: Type.Optional(Type.Union([Type.Literal('info'), Type.Literal('warn')])),
      file: Type.Optional(Type.String()),
    }),
  )
  assert.deepEqual(parse({ limit: '9', level: 'warn', file: '7', other: 'x' }), {
    limit: 9,
    level: 'warn',
    file: '7',
  })
  assert.throws(() => parse({ limit: '1e3', level: 'loud', file: ['a', 'b'] }), {
    code: 'body_invalid',
    message: 'The address has a bad value for: file, limit, level.',
    errors: [
      { path: '/file', message: 'is given more than once' },
      { path: '/limit', message: 'must be integer' },
      { path: '/level', message: 'must be one of "info", "warn"' },
    ],
  })
  assert.throws(() => parse({ limit: '1', file: ['a', 'b'] }), {
    message: 'The address has a bad value for: file.',
  })
  const parseRequired = createQueryParser(Type.Object({ file: Type.String(), render: Type.String() }))
  assert.throws(() => parseRequired({ file: ['a', 'b'] }), {
    errors: [
      { path: '/file', message: 'is given more than once' },
      { path: '/render', message: 'is required' },
    ],
  })
  for (const limit of ['', '0', '10', '-1', ' 5', '5.0', '0x5', '99999999999999999999']) {
    assert.throws(
      () => parse({ limit }),
      (error: Problem) => error.errors?.length === 1 && error.errors[0]?.path === '/limit',
      limit,
    )
  }
})
