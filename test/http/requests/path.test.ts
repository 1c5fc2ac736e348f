import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalPath } from '../../../src/http/requests/path.ts'

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
    assert.throws(() => canonicalPath(path), { code: 'body_invalid' }, path)
  }
})
