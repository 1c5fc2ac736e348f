import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createKeyRing } from '../../../src/base/keys/key-ring.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import {
  restoredPlaces,
  restoreHidden,
  restoreSecrets,
  withoutPlaceholders,
} from '../../../src/lifecycle/secrets/restore-secrets.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import { secretPaths, wholeConfig } from '../../../src/lifecycle/secrets/secret-places.ts'
import { hideSecrets, openDefault, secretValues } from '../../../src/lifecycle/secrets/secrets.ts'
import type { Manifest } from '../../../src/schema/manifest/manifest.ts'
import { hiddenValue as hidden } from '../../../src/schema/plugin/hidden-value.ts'

const fields = normaliseFields({
  configSchema: [
    {
      key: 'servers',
      type: 'list',
      fields: [
        { key: 'host', type: 'string' },
        { key: 'code', type: 'string', secret: true },
        { key: 'password', type: 'string' },
        { key: 'key', type: 'string', secret: false },
        { key: 'users', type: 'list', fields: [{ key: 'name' }, { key: 'pin' }] },
      ],
    },
    { key: 'broker', type: 'object', fields: [{ key: 'user' }, { key: 'door', type: 'password' }] },
    { key: 'words', type: 'list', items: { type: 'password' } },
  ],
})

const whole = wholeConfig(fields)

const stored = {
  servers: [
    { host: 'a', code: 'code-a', key: 'open', users: [{ name: 'u', pin: 'pin-u' }] },
    { host: 'b', code: 'code-b', password: 'pass-b' },
    { host: 'c' },
  ],
  broker: { user: 'me', door: 'door-secret' },
  words: ['word-1', 'word-2'],
}

test('secrets in rows and objects are hidden, found for the log, and encrypted on disk', () => {
  assert.deepEqual(hideSecrets(whole, stored), {
    servers: [
      { host: 'a', code: hidden, key: 'open', users: [{ name: 'u', pin: hidden }] },
      { host: 'b', code: hidden, password: hidden },
      { host: 'c' },
    ],
    broker: { user: 'me', door: hidden },
    words: [hidden, hidden],
  })
  const secrets = ['code-a', 'pin-u', 'code-b', 'pass-b', 'door-secret', 'word-1', 'word-2']
  assert.deepEqual(secretValues(whole, stored), secrets)
  const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => whole)
  const sealed = vault.seal.config('@a/b', stored)
  const text = JSON.stringify(sealed)
  assert.deepEqual(
    secrets.filter((secret) => text.includes(secret)),
    [],
  )
  assert.match(text, /"host":"a"/)
  assert.match(text, /"key":"open"/)
  assert.deepEqual(vault.open.config('@a/b', JSON.parse(text)), stored)
})

test('the placeholder stands for the secret of the row with the same open values, wherever it now is', () => {
  const shown = hideSecrets(whole, stored) as typeof stored
  const [a, b, c] = shown.servers
  const ofServers = (servers: unknown[]) => restoreSecrets(whole, { ...shown, servers }, stored)
  assert.deepEqual(restoreSecrets(whole, shown, stored), { config: stored, errors: [] })
  const [storedA, storedB, storedC] = stored.servers
  assert.deepEqual(ofServers([c, b, a]).config.servers, [storedC, storedB, storedA])
  assert.deepEqual(ofServers([b]).config.servers, [storedB])
  // One new secret, one kept; members in another order.
  assert.deepEqual(ofServers([{ password: 'new', code: hidden, host: 'b' }]), {
    config: { ...stored, servers: [{ password: 'new', code: 'code-b', host: 'b' }] },
    errors: [],
  })
  // The same row twice: both are the one that is stored.
  assert.deepEqual(ofServers([b, b]).errors, [])
  assert.deepEqual(ofServers([{ host: 'new', code: 'typed' }]).config.servers, [
    { host: 'new', code: 'typed' },
  ])
})

test('where no stored row is the one, or several are, the placeholder is refused with its place', () => {
  const none = `must be the value itself: no stored row has the other values of this one, so ${hidden} stands for nothing`
  const several = `must be the value itself: several stored rows have the other values of this one, so ${hidden} may be any of theirs`
  const twins = {
    servers: [
      { host: 'a', code: '1' },
      { host: 'a', code: '2' },
    ],
  }
  const cases: [object, object, [string, string][]][] = [
    [stored, { servers: [{ host: 'evil', code: hidden }] }, [['/config/servers/0/code', none]]],
    [stored, { servers: [{ host: 'c', code: hidden }] }, [['/config/servers/0/code', none]]],
    [
      stored,
      { servers: [{ host: 'a', code: hidden, users: [{ name: 'x', pin: hidden }] }] },
      [
        ['/config/servers/0/code', none],
        ['/config/servers/0/users/0/pin', none],
      ],
    ],
    [twins, { servers: [{ host: 'a', code: hidden }] }, [['/config/servers/0/code', several]]],
    [
      twins,
      hideSecrets(whole, twins),
      [
        ['/config/servers/0/code', several],
        ['/config/servers/1/code', several],
      ],
    ],
    [stored, { words: [hidden] }, [['/config/words/0', several]]],
    [{}, { servers: [{ host: 'a', code: hidden }] }, [['/config/servers/0/code', none]]],
  ]
  for (const [before, incoming, expected] of cases) {
    const { errors } = restoreSecrets(whole, { ...incoming }, { ...before })
    assert.deepEqual(
      errors.map(({ path, message }) => [path, message]),
      expected,
      JSON.stringify(incoming),
    )
  }
})

test('a row within a row is known by itself when the outer one has changed', () => {
  const { config, errors } = restoreSecrets(
    whole,
    { servers: [{ host: 'a', code: 'typed', users: [{ name: 'v' }, { name: 'u', pin: hidden }] }] },
    stored,
  )
  assert.deepEqual(
    [errors, config.servers],
    [[], [{ host: 'a', code: 'typed', users: [{ name: 'v' }, { name: 'u', pin: 'pin-u' }] }]],
  )
})

test('secrets without anything beside them keep their order while all are there', () => {
  const { config, errors } = restoreSecrets(whole, { words: ['new', hidden, hidden] }, stored)
  assert.deepEqual([errors, config.words], [[], ['new', 'word-1', 'word-2']])
})

test('what is open and reads as the placeholder is a value, and a placeholder for which nothing is stored is left out', () => {
  const incoming = { broker: { user: hidden, door: hidden }, servers: [{ host: hidden, key: hidden }] }
  const { broker: _broker, ...rest } = stored
  assert.deepEqual(restoreSecrets(whole, incoming, rest), {
    config: { broker: { user: hidden }, servers: incoming.servers },
    errors: [],
  })
  assert.deepEqual(restoreSecrets(whole, { broker: incoming.broker }, stored).config, {
    broker: { user: hidden, door: 'door-secret' },
  })
})

test('a placeholder under a name that every object of JavaScript has stands for what is stored, or for nothing', () => {
  const place = wholeConfig(
    normaliseFields({
      configSchema: [
        { key: 'constructor', type: 'password' },
        { key: 'toString', type: 'password' },
      ],
    }),
  )
  const incoming = { constructor: hidden, toString: hidden }
  assert.deepEqual(restoreSecrets(place, incoming, {}), { config: {}, errors: [] })
  const kept = { constructor: 'kept' }
  assert.deepEqual(restoreSecrets(place, incoming, kept), { config: kept, errors: [] })
})

test('many rows are put back in reasonable time', () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ host: `h${index}`, code: `c${index}` }))
  const { config, errors } = restoreSecrets(whole, hideSecrets(whole, { servers: [...rows].reverse() }), {
    servers: rows,
  })
  assert.deepEqual([errors, config.servers], [[], [...rows].reverse()])
})

test('a text in place of rows or members with secrets is hidden as a whole, encrypted, and kept by the placeholder', () => {
  const texts = { servers: 'a code-a\nb code-b', broker: '{"user":"me","door":"door-secret"}' }
  const shown = { servers: hidden, broker: hidden }
  assert.deepEqual(hideSecrets(whole, texts), shown)
  assert.deepEqual(secretValues(whole, texts), Object.values(texts))
  const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => whole)
  const sealed = JSON.stringify(vault.seal.config('@a/b', texts))
  assert.doesNotMatch(sealed, /code-|door-secret/)
  assert.deepEqual(vault.open.config('@a/b', JSON.parse(sealed)), texts)
  assert.deepEqual(restoreSecrets(whole, shown, texts), { config: texts, errors: [] })
  const open = wholeConfig(
    normaliseFields({ configSchema: [{ key: 'rules', type: 'list', fields: [{ key: 'from' }] }] }),
  )
  assert.deepEqual(hideSecrets(open, { rules: 'a -> b' }), { rules: 'a -> b' })
  // Of a version before, which had declared all of it a secret.
  const former = wholeConfig(open.fields ?? [], ['/rules'])
  assert.deepEqual(hideSecrets(former, { rules: 'a -> b' }), { rules: hidden })
})

test('what a version before had declared a secret of rows is hidden and encrypted, however they are declared and written now', () => {
  const former = (...configSchema: NonNullable<Manifest['configSchema']>) =>
    wholeConfig(normaliseFields({ configSchema }), ['/rooms/code'])
  const columns = [{ key: 'name' }]
  const places = [
    former(),
    former({ key: 'rooms', type: 'list', fields: columns }),
    former({ key: 'rooms', type: 'list', items: { type: 'object', fields: columns } }),
  ]
  for (const place of places) {
    const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => place)
    const rows = { rooms: [{ name: 'hall', code: 'code-1' }] }
    assert.deepEqual(hideSecrets(place, rows), { rooms: [{ name: 'hall', code: hidden }] })
    assert.doesNotMatch(JSON.stringify(vault.seal.config('@a/b', rows)), /code-1/)
    const text = { rooms: 'hall code-1' }
    assert.deepEqual(hideSecrets(place, text), { rooms: hidden })
    assert.doesNotMatch(JSON.stringify(vault.seal.config('@a/b', text)), /code-1/)
  }
})

test('what a version before had declared a secret under a name with a slash is hidden', () => {
  const before = normaliseFields({ config: { 'door/~code': { type: 'string', secret: true } } })
  const config = { 'door/~code': 'code-1', door: 'open' }
  assert.deepEqual(hideSecrets(wholeConfig([], secretPaths(before)), config), {
    ...config,
    'door/~code': hidden,
  })
})

test('all texts and numbers below a secret are found for the log, whatever their own names', () => {
  const config = {
    auth: { user: 'me', pins: [12345, ['a-b', { name: 'c-d' }]], on: true, none: '' },
    port: 1883,
  }
  assert.deepEqual(secretValues(whole, config), ['me', '12345', 'a-b', 'c-d'])
})

test('of a default nothing is shown where its field is a secret, and no secret of its rows', () => {
  const [words, rows] = normaliseFields({
    config: {
      words: { type: 'password', default: 'word-1' },
      rows: {
        type: 'list',
        fields: [{ key: 'name' }, { key: 'pin' }],
        default: [{ name: 'n', pin: '1234' }],
      },
    },
  }).map(openDefault)
  assert.deepEqual([words, rows], [null, [{ name: 'n', pin: hidden }]])
})

test('only a placeholder in whose place there is a stored secret now counts as one that was sent somewhere', () => {
  const incoming = { words: [hidden], servers: [{ host: hidden, code: hidden }], broker: { door: hidden } }
  const { broker: _broker, ...rest } = {
    ...stored,
    words: ['word-1'],
    servers: [{ host: hidden, code: 'code-a' }],
  }
  const { config } = restoreSecrets(whole, incoming, rest)
  // What is open reads so, and for the last one nothing is stored.
  assert.deepEqual(restoredPlaces(incoming, config, '/config'), ['/config/words/0', '/config/servers/0/code'])
})

test('without a manifest every placeholder is one: it keeps what is stored, or is left out', () => {
  const incoming = { a: hidden, constructor: hidden, rows: [hidden, { b: hidden, c: 1 }] }
  assert.deepEqual(restoreHidden(incoming, { a: 'kept' }), { a: 'kept', rows: incoming.rows })
  assert.deepEqual(withoutPlaceholders(undefined, incoming), {
    config: { rows: [{ c: 1 }] },
    places: ['/config/a', '/config/constructor', '/config/rows/0', '/config/rows/1/b'],
  })
})
