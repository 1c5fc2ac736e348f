import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { checkConfig as check } from '../../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../../src/lifecycle/permissions/plugin-environment.ts'
import { restoreSecrets as restore } from '../../../src/lifecycle/secrets/restore-secrets.ts'
import { wholeConfig } from '../../../src/lifecycle/secrets/secret-places.ts'
import { hideSecrets, secretValues } from '../../../src/lifecycle/secrets/secrets.ts'
import type { Field } from '../../../src/schema/manifest/field.ts'
import type { ConfigDefinition } from '../../../src/schema/manifest/field-definition.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'
import { hiddenValue } from '../../../src/schema/plugin/hidden-value.ts'

function fields(config: Record<string, ConfigDefinition>): Field[] {
  return normaliseFields({ config })
}

/** With variables that may be read. */
const checkConfig = (
  fields: readonly Field[],
  config: Config,
  variables: Readonly<Record<string, string | undefined>>,
): ReturnType<typeof check> => check(fields, config, createHostEnvironment(variables, undefined)({}))

/** Where nothing is in doubt. */
function restoreSecrets(list: readonly Field[], incoming: Config, stored: Config): Config {
  const { config, errors } = restore(wholeConfig(list), incoming, stored)
  assert.deepEqual(errors, [])
  return config
}

/** As `JSON.parse` makes it: `__proto__` is a member like any other. */
const parsed = (text: string): Config => JSON.parse(text)

const plain = {
  label: 'x',
  description: null,
  required: false,
  default: null,
  min: null,
  max: null,
  enum: null,
  env: null,
  secret: false,
  items: null,
  fields: null,
  minItems: null,
  maxItems: null,
  suggest: null,
  placeholder: null,
  unit: null,
  group: null,
  advanced: null,
  showIf: null,
  lines: null,
}

test('both ways to describe a configuration become one list, and the one with validation wins', () => {
  const list = normaliseFields({
    configSchema: [
      {
        key: 'interval',
        type: 'string',
        label: 'Interval',
        description: 'Seconds',
        default: '60',
        required: true,
      },
      { key: 'city', type: 'string', label: '' },
    ],
    config: {
      zone: { enum: ['a', 'b'], env: 'ZONE' },
      interval: { type: 'number', min: 10, required: false },
    },
  })
  assert.deepEqual(list, [
    {
      ...plain,
      key: 'interval',
      type: 'number',
      label: 'Interval',
      description: 'Seconds',
      default: 60,
      min: 10,
    },
    { ...plain, key: 'city', type: 'string', label: 'city' },
    { ...plain, key: 'zone', type: null, label: 'zone', enum: ['a', 'b'], env: 'ZONE' },
  ])
  assert.deepEqual(normaliseFields({}), [])
})

test('a default is brought to the type of its field, or is none', () => {
  const cases: [ConfigDefinition, unknown][] = [
    [{ type: 'number', default: '3600' }, 3600],
    [{ type: 'number', default: ' 1.5 ' }, 1.5],
    [{ type: 'number', default: '-1e3' }, -1000],
    [{ type: 'number', default: '' }, null],
    [{ type: 'number', default: 'often' }, null],
    [{ type: 'number', default: 'Infinity' }, null],
    [{ type: 'number', default: true }, null],
    [{ type: 'boolean', default: 'true' }, true],
    [{ type: 'boolean', default: 'Off' }, false],
    [{ type: 'boolean', default: ' YES ' }, true],
    ...['offline', 'x0', 'yesterday', 'x1'].map((text): [ConfigDefinition, null] => [
      { type: 'boolean', default: text },
      null,
    ]),
    [{ type: 'boolean', default: 'maybe' }, null],
    [{ type: 'boolean', default: false }, false],
    [{ type: 'string', default: 5 }, '5'],
    [{ type: 'string', default: true }, 'true'],
    [{ type: 'string', default: '' }, ''],
    [{ type: 'string', default: [1] }, null],
    [{ default: '5' }, '5'],
    [{ enum: [1, 5], default: '5' }, 5],
    [{ enum: [1, 5], default: 5 }, 5],
    [{ default: { a: 1 } }, { a: 1 }],
    [{ type: 'number', default: null }, null],
    [{ type: 'object', default: '{"a":1}' }, { a: 1 }],
    [{ type: 'object', default: '[1]' }, null],
    [{ type: 'object', default: [1] }, null],
    [{}, null],
  ]
  for (const [definition, expected] of cases) {
    assert.deepEqual(fields({ x: definition })[0]?.default, expected, JSON.stringify(definition))
  }
  assert.deepEqual(fields({ x: { type: 'number', enum: ['1', 2] } })[0]?.enum, [1, 2])
})

test('a field is secret when it is marked or named so, unless it is marked as none, and a switch only when it is marked', () => {
  const list = fields({
    pin: { type: 'number' },
    code: { type: 'number', secret: true },
    token: { type: 'string', secret: false },
    door: { type: 'password' },
    greeting: { type: 'password', secret: false },
    useAuth: { type: 'boolean' },
    hiddenSwitch: { type: 'boolean', secret: true },
    city: { type: 'string' },
  })
  assert.deepEqual(
    list.map(({ key, secret }) => [key, secret]),
    [
      ['pin', true],
      ['code', true],
      ['token', false],
      ['door', true],
      ['greeting', false],
      ['useAuth', false],
      ['hiddenSwitch', true],
      ['city', false],
    ],
  )
})

/** Definitions and a value of `x`, and what is wrong with it. */
const violations: [ConfigDefinition, unknown, string[]][] = [
  [{ type: 'number', min: 300, max: 86400 }, 300, []],
  [{ type: 'number', min: 300, max: 86400 }, 299, ['must be at least 300']],
  [{ type: 'number', min: 300, max: 86400 }, 86401, ['must be at most 86400']],
  [{ type: 'number' }, '300', ['must be a number']],
  [{ type: 'number' }, '', ['must be a number']],
  [{ type: 'number' }, true, ['must be a number']],
  [{ type: 'number' }, [1], ['must be a number']],
  [{ type: 'integer', min: 1 }, 2, []],
  [{ type: 'integer', min: 1 }, 0, ['must be at least 1']],
  [{ type: 'integer' }, 2.5, ['must be a whole number']],
  [{ type: 'integer' }, '2', ['must be a whole number']],
  [{ type: 'text' }, 'two\nlines', []],
  [{ type: 'text' }, 5, ['must be a string']],
  [{ type: 'password' }, 'open sesame', []],
  [{ type: 'password' }, 5, ['must be a string']],
  [{ type: 'select', enum: ['a', 1] }, 1, []],
  [{ type: 'select', enum: ['a', 1] }, 'b', ['must be one of "a", 1']],
  [{ type: 'select' }, 'anything', []],
  [{ type: 'boolean' }, 'true', ['must be a boolean']],
  [{ type: 'boolean' }, false, []],
  [{ type: 'string' }, 5, ['must be a string']],
  [{ type: 'string' }, '', []],
  [{ type: 'string', min: 5 }, 'abc', []],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', ['must be one of "a", "b"']],
  [{ type: 'number', enum: ['1', 2], max: 5 }, 9, ['must be at most 5', 'must be one of 1, 2']],
  [{ enum: ['a', 1, { b: 2 }] }, { b: 2 }, []],
  [{ enum: ['a', 1] }, '1', ['must be one of "a", 1']],
  [{}, { any: ['thing'] }, []],
  [{ min: 3 }, 2, ['must be at least 3']],
  // What the author gives by default is right, whatever the bounds say.
  [{ type: 'number', min: 300, default: 0 }, 0, []],
]

test('a value is held to type, bounds and choices', () => {
  for (const [definition, value, messages] of violations) {
    const { errors, missing } = checkConfig(fields({ x: definition }), { x: value }, {})
    const expected = messages.map((message) => ({ path: '/config/x', message }))
    assert.deepEqual([errors, missing], [expected, []], JSON.stringify([definition, value]))
  }
})

test('all errors are told at once, with pointers that are escaped', () => {
  const list = fields({
    'a/b~c': { type: 'number' },
    d: { type: 'string', required: true },
    e: { enum: [1] },
  })
  assert.deepEqual(checkConfig(list, { 'a/b~c': 'x', e: 2 }, {}), {
    errors: [
      { path: '/config/a~1b~0c', message: 'must be a number' },
      { path: '/config/e', message: 'must be one of 1' },
    ],
    missing: [{ path: '/config/d', message: 'is required' }],
    warnings: [],
    effective: { 'a/b~c': 'x', e: 2 },
  })
})

test('what is not set comes from the environment, then from the default, and else stays away', () => {
  const list = fields({
    number: { type: 'number', env: 'NUMBER', default: 1 },
    flag: { type: 'boolean', env: 'FLAG' },
    text: { type: 'string', env: 'TEXT', default: 'default' },
    choice: { enum: ['a', 5], env: 'CHOICE' },
    nothing: { type: 'string' },
  })
  assert.deepEqual(checkConfig(list, {}, {}).effective, { number: 1, text: 'default' })
  const environment = { NUMBER: '5', FLAG: 'on', TEXT: '', CHOICE: '5', UNUSED: 'x' }
  assert.deepEqual(checkConfig(list, {}, environment), {
    errors: [],
    missing: [],
    warnings: [],
    effective: { number: 5, flag: true, text: 'default', choice: 5 },
  })
  const stored = { number: 7, flag: false, text: 'stored', choice: 'a', nothing: '', more: [1] }
  assert.deepEqual(checkConfig(list, stored, environment).effective, stored)
  assert.deepEqual(checkConfig(list, { number: null, text: '', nothing: null }, { TEXT: 'env' }).effective, {
    number: 1,
    text: 'env',
  })
})

test('an environment variable of no use stops the load and not the saving', () => {
  const list = fields({
    x: { type: 'number', env: 'X', min: 5, required: true },
    y: { enum: ['a'], env: 'Y' },
  })
  const { errors, missing } = checkConfig(list, {}, { X: 'five', Y: 'b' })
  assert.deepEqual(errors, [])
  assert.deepEqual(missing, [
    { path: '/config/x', message: 'the environment variable X must be a number' },
    { path: '/config/y', message: 'the environment variable Y must be one of "a"' },
  ])
  assert.deepEqual(checkConfig(list, {}, { X: '4' }).missing, [
    { path: '/config/x', message: 'the environment variable X must be at least 5' },
  ])
  assert.deepEqual(checkConfig(list, { x: 6 }, { X: '4' }).missing, [])
  assert.deepEqual(checkConfig(list, {}, {}).missing, [
    { path: '/config/x', message: 'is required; set it here or in the environment variable X' },
  ])
})

test('an empty text is no value where one is required', () => {
  const list = fields({
    x: { type: 'string', required: true },
    y: { type: 'string', required: true, default: 'd' },
  })
  assert.deepEqual(checkConfig(list, { x: '', y: '' }, {}), {
    errors: [],
    missing: [{ path: '/config/x', message: 'is required' }],
    warnings: [],
    effective: { y: 'd' },
  })
  const empty = fields({ x: { type: 'string', required: true, default: '' } })
  assert.equal(checkConfig(empty, {}, {}).missing.length, 1)
  const zero = fields({
    x: { type: 'number', required: true, default: 0 },
    y: { type: 'boolean', required: true },
  })
  assert.deepEqual(checkConfig(zero, { y: false }, {}).missing, [])
})

test('a setting that may not be read from the environment counts as not set, and that is told', () => {
  const list = fields({
    needed: { type: 'string', required: true, env: 'NEEDED' },
    spare: { type: 'string', required: true, env: 'SPARE', default: 'd' },
    other: { type: 'string', env: 'OTHER' },
    set: { type: 'string', env: 'SET' },
    none: { type: 'string', required: true, env: '', default: 'n' },
  })
  const variables = { NEEDED: 'x', SPARE: 'x', OTHER: 'x', SET: 'x', '': 'x' }
  const environment = createHostEnvironment(variables, undefined)({ permissions: {} })
  const { errors, missing, warnings, effective } = check(list, { set: 'stored' }, environment)
  assert.deepEqual([errors, effective], [[], { set: 'stored', spare: 'd', none: 'n' }])
  const sentence = (variable: string): string =>
    `the plugin may not read the environment variable ${variable}; to let it, add "${variable}" to permissions.environment of its manifest`
  assert.deepEqual(missing, [
    { path: '/config/needed', message: `is required; set it here: ${sentence('NEEDED')}` },
  ])
  assert.deepEqual(warnings, [
    { path: '/config/spare', message: `counts as not set: ${sentence('SPARE')}` },
    { path: '/config/other', message: `counts as not set: ${sentence('OTHER')}` },
  ])
})

test('keys with a meaning in JavaScript are keys like any other', () => {
  const definitions = JSON.parse(
    '{"__proto__": {"type": "number"}, "constructor": {"type": "string"}, "toString": {"required": true}}',
  )
  const list = fields(definitions)
  assert.deepEqual(
    list.map(({ key }) => key),
    ['__proto__', 'constructor', 'toString'],
  )
  const config = parsed('{"__proto__": {"polluted": true}, "constructor": "x", "hasOwnProperty": 1}')
  const { errors, missing, effective } = checkConfig(list, config, {})
  assert.deepEqual(errors, [{ path: '/config/__proto__', message: 'must be a number' }])
  assert.deepEqual(missing, [{ path: '/config/toString', message: 'is required' }])
  assert.equal(JSON.stringify(effective), JSON.stringify(config))
  const hidden = hideSecrets(wholeConfig(list), config)
  assert.equal(JSON.stringify(hidden), JSON.stringify(config))
  assert.equal(JSON.stringify(restoreSecrets(list, hidden, {})), JSON.stringify(config))
  assert.equal(Object.getPrototypeOf(effective), Object.prototype)
  assert.equal(Reflect.get({}, 'polluted'), undefined)
  const environment = { x: 'y' }
  assert.deepEqual(checkConfig(fields({ a: { env: 'constructor' } }), {}, environment).effective, {})
})

test('a value that nests without end is refused, not followed', () => {
  const deep = parsed(`{"x": ${'['.repeat(50_000)}${']'.repeat(50_000)}, "y": [[1]]}`)
  const { errors, effective } = checkConfig([], deep, {})
  assert.deepEqual(errors, [{ path: '/config/x', message: 'nests deeper than 64 levels' }])
  assert.deepEqual(effective, { y: [[1]] })
  assert.doesNotThrow(() => JSON.stringify(hideSecrets(wholeConfig([]), deep)))
  assert.doesNotThrow(() => restoreSecrets([], deep, deep))
})

test('secret values are hidden, declared or not, at any depth; what is empty is not', () => {
  const list = fields({
    pin: { type: 'number', secret: true },
    city: { type: 'string' },
    bot_token: { type: 'string' },
  })
  const config = {
    pin: 1234,
    city: 'Berlin',
    bot_token: '',
    apiKey: 'abc',
    auth: { user: 'me', pass: 'x' },
    useAuth: true,
    servers: [{ host: 'a', password: 'p' }, { host: 'b' }],
    nothingKey: null,
  }
  assert.deepEqual(hideSecrets(wholeConfig(list), config), {
    pin: hiddenValue,
    city: 'Berlin',
    bot_token: '',
    apiKey: hiddenValue,
    auth: hiddenValue,
    useAuth: true,
    servers: [{ host: 'a', password: hiddenValue }, { host: 'b' }],
    nothingKey: null,
  })
  assert.deepEqual(secretValues(wholeConfig(list), config), ['1234', 'abc', 'me', 'x', 'p'])
})

test('the placeholder keeps the stored value, or goes when there is none', () => {
  const list = fields({
    token: { type: 'string' },
    city: { type: 'string' },
    code: { type: 'boolean', secret: true },
  })
  const stored = {
    token: 't',
    code: false,
    apiKey: 'k',
    servers: [
      { host: 'a', password: 'p' },
      { host: 'b', password: 'q' },
    ],
  }
  const incoming = {
    token: hiddenValue,
    code: hiddenValue,
    city: hiddenValue,
    apiKey: 'new',
    secret: hiddenValue,
    // The first one was removed, the second is as it was shown, the third is new.
    servers: [
      { host: 'b', password: hiddenValue },
      { host: 'c', password: 'r' },
    ],
  }
  assert.deepEqual(restoreSecrets(list, incoming, stored), {
    token: 't',
    code: false,
    city: hiddenValue,
    apiKey: 'new',
    servers: [
      { host: 'b', password: 'q' },
      { host: 'c', password: 'r' },
    ],
  })
})

const key = fc.constantFrom(
  'token',
  'apiKey',
  'city',
  'useAuth',
  'a',
  'b',
  'servers',
  '__proto__',
  'password',
)
const definition: fc.Arbitrary<ConfigDefinition> = fc.record(
  {
    type: fc.constantFrom('string', 'number', 'boolean'),
    required: fc.boolean(),
    default: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant('5'), fc.constant('true')),
    min: fc.integer({ min: -10, max: 5 }),
    max: fc.integer({ min: 0, max: 20 }),
    enum: fc.array(fc.oneof(fc.integer({ min: -5, max: 10 }), fc.constantFrom('a', 'b', '1')), {
      minLength: 1,
      maxLength: 4,
    }),
    env: fc.constantFrom('A', 'B'),
    secret: fc.boolean(),
  },
  { requiredKeys: [] },
)
const definitions = fc
  .uniqueArray(fc.tuple(key, definition), { selector: ([name]) => name })
  .map((entries) => fields(Object.fromEntries(entries)))
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('a', 'b', 1, 5, '', true, null, hiddenValue),
)
const anyObject = (depth: number): fc.Arbitrary<unknown> =>
  depth === 0
    ? value
    : fc.oneof(
        value,
        fc.array(anyObject(depth - 1), { maxLength: 3 }),
        fc
          .array(fc.tuple(key, anyObject(depth - 1)), { maxLength: 4 })
          .map((entries) => Object.fromEntries(entries)),
      )
const config: fc.Arbitrary<Config> = fc
  .array(fc.tuple(key, anyObject(2)), { maxLength: 6 })
  .map((entries) => Object.fromEntries(entries))
const environment = fc.record(
  { A: fc.constantFrom('', '5', 'a', 'true', 'x'), B: fc.constantFrom('1', 'off') },
  { requiredKeys: [] },
)

test('without complaints the effective configuration keeps to every definition', () => {
  let clean = 0
  fc.assert(
    fc.property(definitions, config, environment, (list, given, variables) => {
      const { errors, missing, effective } = checkConfig(list, given, variables)
      if (errors.length + missing.length > 0) return
      clean += 1
      for (const field of list) {
        const found = Object.hasOwn(effective, field.key) ? effective[field.key] : undefined
        if (found === undefined) assert.equal(field.required, false)
        else if (!isDeepStrictEqual(found, field.default)) {
          assert.equal(satisfiesDefinition(field, found), true, JSON.stringify([field, found]))
        }
        if (field.required) assert.notEqual(found, '')
      }
      const declared = new Set(list.map((field) => field.key))
      for (const [name, kept] of Object.entries(given)) {
        if (!declared.has(name)) assert.deepEqual(effective[name], kept)
      }
    }),
    { numRuns: 1000 },
  )
  assert.ok(clean > 100, 'the law was tried on configurations without complaints')
})

/** The definition in words of its own, to compare the rules with. */
function satisfiesDefinition({ type, min, max, enum: choices }: Field, found: unknown): boolean {
  if (type !== null && typeof found !== type) return false
  if (typeof found === 'number' && (found < (min ?? found) || found > (max ?? found))) return false
  return choices === null || choices.some((choice) => isDeepStrictEqual(choice, found))
}

test('checking what was checked changes nothing more', () => {
  fc.assert(
    fc.property(definitions, config, environment, (list, given, variables) => {
      const once = checkConfig(list, given, variables)
      if (once.errors.length + once.missing.length > 0) return
      assert.deepEqual(checkConfig(list, once.effective, variables), once)
    }),
    { numRuns: 500 },
  )
})
