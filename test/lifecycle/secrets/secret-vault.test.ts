import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createKeyRing, SecretKeyError } from '../../../src/base/keys/key-ring.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { wholeConfig } from '../../../src/lifecycle/secrets/secret-places.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'

const whole = wholeConfig(
  normaliseFields({
    config: {
      pin: { type: 'number', secret: true },
      count: { type: 'number' },
      url: { type: 'string' },
    },
  }),
)
const ring = createKeyRing([randomBytes(32)])
const vault = createSecretVault(ring, () => whole)
const plain = createSecretVault(createKeyRing([]), () => whole)
const sealed = /^\$encrypted:v1:[0-9a-f]{8}:[\w-]+$/

const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '$',
    '$$',
    '$encrypted:v1:',
    '$$encrypted:v1:x',
    'Xencrypted:v1:',
    '$encrypted:v1:00000000:AAAA',
    '$$$ncrypted:v1:',
  ),
)
const configs = fc.dictionary(
  fc.oneof(fc.constantFrom('pin', 'count', 'url', 'token', 'password', '__proto__', 'list'), fc.string()),
  fc.jsonValue({ depthSize: 'small' }).chain((value) => fc.oneof(fc.constant(value), texts, fc.array(texts))),
)

test('every configuration comes back as it was, with a key and without', () => {
  fc.assert(
    fc.property(configs, (given) => {
      const config = JSON.parse(JSON.stringify(given)) as Config
      for (const one of [vault, plain, createSecretVault(ring, () => undefined)]) {
        const stored = JSON.parse(JSON.stringify(one.seal.config('@a/b', config))) as Config
        assert.deepEqual(one.open.config('@a/b', stored), config)
      }
    }),
  )
})

test('what the manifest or its name calls secret is encrypted, the rest stays readable', () => {
  const stored = vault.seal.config('@a/b', {
    pin: 1234,
    count: 3,
    url: 'http://x',
    apiKey: 'k',
    on: true,
    password: '',
    list: [{ token: 't', name: 'n' }],
    auth: { user: 'u' },
  }) as Record<string, any>
  for (const value of [stored.pin, stored.apiKey, stored.auth, stored.list[0].token])
    assert.match(value, sealed)
  assert.deepEqual(
    [stored.count, stored.url, stored.on, stored.password, stored.list[0].name],
    [3, 'http://x', true, '', 'n'],
  )
})

test('when no manifest is known, every text and number may be a secret', () => {
  const stored = createSecretVault(ring, () => undefined).seal.config('@a/b', {
    url: 'x',
    more: { a: 1 },
    n: 1,
    on: true,
  })
  for (const value of [stored.url, stored.more, stored.n]) assert.match(String(value), sealed)
  assert.equal(stored.on, true)
})

test('a value opens only for its plugin and its key', () => {
  const { apiKey } = vault.seal.config('@a/b', { apiKey: 'x' })
  assert.deepEqual(vault.open.config('@a/b', { apiKey }), { apiKey: 'x' })
  assert.throws(
    () => vault.open.config('@a/c', { apiKey }),
    /^Error: the value \/apiKey of @a\/c cannot be decrypted/,
  )
  assert.throws(
    () => vault.open.config('@a/b', { otherKey: apiKey }),
    /\/otherKey of @a\/b cannot be decrypted/,
  )
  assert.throws(() => plain.open.config('@a/b', { apiKey }), SecretKeyError)
})

test('what has not changed is not encrypted anew, so that the file stays the same', () => {
  const first = vault.seal.config('@a/b', { apiKey: 'x', pin: 1 })
  assert.deepEqual(vault.seal.config('@a/b', { apiKey: 'x', pin: 1 }), first)
  const other = createSecretVault(ring, () => whole)
  other.open.config('@a/b', first)
  assert.deepEqual(other.seal.config('@a/b', { apiKey: 'x', pin: 2 }).apiKey, first.apiKey)
})

test('of what was encrypted ten thousand values are remembered', () => {
  const first = vault.seal.config('@a/b', { apiKey: 'x' })
  assert.deepEqual(vault.seal.config('@a/b', { apiKey: 'x' }), first)
  vault.seal.config('@a/b', {
    tokens: Array.from({ length: 10_000 }, (_, index) => ({ token: `t${index}` })),
  })
  assert.notDeepEqual(vault.seal.config('@a/b', { apiKey: 'x' }), first)
})

test('the address of a repository is encrypted when it holds a password or a query', () => {
  const address = 'https://me:secret@example.com/plugins'
  const stored = vault.seal.address('mine', address)
  for (const one of [address, 'https://example.com/plugins/?token=secret']) {
    assert.match(vault.seal.address('mine', one), sealed)
    assert.equal(vault.open.address('mine', vault.seal.address('mine', one)), one)
  }
  assert.throws(
    () => vault.open.address('other', stored),
    /the address of the repository other cannot be decrypted/,
  )
  assert.equal(vault.seal.address('mine', './folder'), './folder')
  assert.equal(plain.seal.address('mine', address), address)
})
