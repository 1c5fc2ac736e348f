import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import { Problem, type ProblemDetail } from '../../src/base/problem.ts'
import { expectedRevision, parseIfMatch } from '../../src/http/requests/if-match.ts'
import { canonicalPath } from '../../src/http/requests/path.ts'
import { createQueryParser } from '../../src/http/requests/query.ts'

function problemOf(action: () => unknown): { code: string; errors: readonly ProblemDetail[] | undefined } {
  try {
    action()
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, errors: error.errors }
    throw error
  }
  throw new Error('No problem was raised')
}

test('a full id in two segments becomes one, behind both prefixes, and other paths stay', () => {
  const paths = {
    '/api/plugins/@ns/short': '/api/plugins/%40ns%2Fshort',
    '/api/plugins/@ns/short/config/check': '/api/plugins/%40ns%2Fshort/config/check',
    '/api/plugins/%40ns/short/doc': '/api/plugins/%40ns%2Fshort/doc',
    '/plugins/@ns/short/toggle': '/plugins/%40ns%2Fshort/toggle',
    '/api/plugins/%40ns%2Fshort/config': '/api/plugins/%40ns%2Fshort/config',
    '/api/plugins/@ns%2Fshort/config': '/api/plugins/@ns%2Fshort/config',
    '/api/plugins/short/config': '/api/plugins/short/config',
    '/api/plugins/@ns': '/api/plugins/@ns',
    '/api/plugins/@ns/': '/api/plugins/@ns/',
    '/api/repositories/@a/b': '/api/repositories/@a/b',
    '/': '/',
  }
  assert.deepEqual(Object.fromEntries(Object.keys(paths).map((path) => [path, canonicalPath(path)])), paths)
})

test('an address that cannot be decoded, or holds control characters, is refused', () => {
  for (const path of ['/api/plugins/%', '/api/plugins/%zz', '/api/%ff', '/api/plugins/a%00b', '/a%0ab']) {
    assert.equal(problemOf(() => canonicalPath(path)).code, 'body_invalid', path)
  }
})

test('If-Match takes revisions in quotes, weak ones, lists and *', () => {
  const headers = {
    '"5"': ['5'],
    'W/"5"': ['5'],
    '*': '*',
    '"5", W/"6"': ['5', '6'],
    '"abc"': ['abc'],
    '""': [''],
  }
  assert.deepEqual(
    Object.fromEntries(Object.keys(headers).map((header) => [header, parseIfMatch(header)])),
    headers,
  )
  for (const header of ['5', '"5', 'w/"5"', '"5",', '', '"5" "6"', '*, "5"', Array(33).fill('"1"').join()]) {
    assert.equal(problemOf(() => parseIfMatch(header)).code, 'body_invalid', header)
  }
})

test('the revision to expect is the one tag, or that of a list which is the present one', async () => {
  const at = (revision: number | undefined) => () => Promise.resolve(revision)
  assert.deepEqual(
    await Promise.all([
      expectedRevision(undefined, at(7)),
      expectedRevision('*', at(7)),
      // Left to the command, which compares when its turn comes.
      expectedRevision('"5"', at(7)),
      expectedRevision('"5", "7"', at(7)),
    ]),
    [undefined, undefined, 5, 7],
  )
  for (const [header, revision] of [
    ['"5", "6"', 7],
    ['"abc"', 7],
    ['"5", "6"', undefined],
  ] as const) {
    await assert.rejects(expectedRevision(header, at(revision)), { code: 'revision_conflict' }, header)
  }
})

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
  assert.deepEqual(
    problemOf(() => parse({ limit: '1e3', level: 'loud', file: ['a', 'b'] })),
    {
      code: 'body_invalid',
      errors: [
        { path: '/file', message: 'is given more than once' },
        { path: '/limit', message: 'must be integer' },
        { path: '/level', message: 'must be one of "info", "warn"' },
      ],
    },
  )
  for (const limit of ['', '0', '10', '-1', ' 5', '5.0', '0x5', '99999999999999999999']) {
    assert.deepEqual(
      problemOf(() => parse({ limit })).errors?.map(({ path }) => path),
      ['/limit'],
      limit,
    )
  }
})
