import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig as check } from '../../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import {
  createHostEnvironment,
  environmentUse,
} from '../../../src/lifecycle/permissions/plugin-environment.ts'
import { allFields, type Field } from '../../../src/schema/manifest/field.ts'
import type { ConfigDefinition } from '../../../src/schema/manifest/field-definition.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'

const fieldsOf = (config: Record<string, ConfigDefinition>): Field[] => normaliseFields({ config })

function checked(definition: ConfigDefinition, value: unknown, variables: Record<string, string> = {}) {
  const given: Config = value === undefined ? {} : { x: value }
  return check(fieldsOf({ x: definition }), given, createHostEnvironment(variables, undefined)({}))
}

const rules: ConfigDefinition = {
  type: 'list',
  minItems: 1,
  maxItems: 3,
  fields: [
    { key: 'from', type: 'string', required: true },
    { key: 'to', type: 'string', required: true },
    { key: 'scale', type: 'number', default: '1', min: 0, max: 10 },
    { key: 'kind', enum: ['a', 'b'], default: 'a' },
    { key: 'note' },
  ],
}
const texts: ConfigDefinition = { type: 'list', items: { type: 'string' } }
const broker: ConfigDefinition = {
  type: 'object',
  fields: [
    { key: 'host', type: 'string', required: true },
    { key: 'port', type: 'integer', default: '1883' },
    { key: 'options', type: 'object', fields: [{ key: 'clean', type: 'boolean', default: 'true' }] },
  ],
}

test('values of lists and objects are checked, each with the place of what is wrong', () => {
  const cases: [ConfigDefinition, unknown, [string, string][]][] = [
    [rules, [{ from: 'a', to: 'b' }], []],
    [rules, [], [['/config/x', 'must have at least 1 row, not 0']]],
    [rules, Array(4).fill({ from: 'a', to: 'b' }), [['/config/x', 'must have at most 3 rows, not 4']]],
    [rules, Array(3).fill({ from: 'a', to: 'b' }), []],
    [{ type: 'list', maxItems: 1 }, [], []],
    [{ type: 'list', maxItems: 1 }, [1, 2], [['/config/x', 'must have at most 1 value, not 2']]],
    [rules, {}, [['/config/x', 'must be a list']]],
    [rules, 'a -> b', [['/config/x', 'must be a list']]],
    [
      rules,
      [{ from: 'a', to: 'b' }, 'c', null, [1]],
      [
        ['/config/x', 'must have at most 3 rows, not 4'],
        ['/config/x/1', 'must be a row, which is an object'],
        ['/config/x/2', 'must be a row, which is an object'],
        ['/config/x/3', 'must be a row, which is an object'],
      ],
    ],
    [
      rules,
      [{ from: 'a', to: 5, scale: 11, kind: 'c' }],
      [
        ['/config/x/0/to', 'must be a string'],
        ['/config/x/0/scale', 'must be at most 10'],
        ['/config/x/0/kind', 'must be one of "a", "b"'],
      ],
    ],
    [texts, ['a', '', 'b'], []],
    [
      texts,
      ['a', 5, null],
      [
        ['/config/x/1', 'must be a string'],
        ['/config/x/2', 'must be a string'],
      ],
    ],
    [
      { type: 'list', items: { type: 'integer', min: 1 } },
      [1, 0, 1.5],
      [
        ['/config/x/1', 'must be at least 1'],
        ['/config/x/2', 'must be a whole number'],
      ],
    ],
    [{ type: 'list', minItems: 2, items: {} }, [1], [['/config/x', 'must have at least 2 values, not 1']]],
    [{ type: 'list' }, [1, 'a', { b: [] }], []],
    [
      { type: 'list', items: { type: 'list', items: { type: 'number' } } },
      [[1], 2, ['a']],
      [
        ['/config/x/1', 'must be a list'],
        ['/config/x/2/0', 'must be a number'],
      ],
    ],
    [broker, { host: 'a', port: 1.5 }, [['/config/x/port', 'must be a whole number']]],
    [broker, [], [['/config/x', 'must be an object']]],
    [broker, { host: 'a', options: 5 }, [['/config/x/options', 'must be an object']]],
    [{ type: 'object' }, { any: [1] }, []],
  ]
  for (const [definition, value, expected] of cases) {
    const { errors, missing } = checked(definition, value)
    assert.deepEqual(
      errors.map(({ path, message }) => [path, message]),
      expected,
      JSON.stringify(value),
    )
    assert.deepEqual(missing, [])
  }
})

test('a required value within stops the load, and not the saving', () => {
  const { errors, missing } = checked(rules, [{ from: 'a', to: 'b' }, { from: '' }])
  assert.deepEqual(
    [errors, missing],
    [
      [],
      [
        { path: '/config/x/1/from', message: 'is required' },
        { path: '/config/x/1/to', message: 'is required' },
      ],
    ],
  )
  assert.deepEqual(checked(broker, {}).missing, [{ path: '/config/x/host', message: 'is required' }])
  const withEmptyText = checked({ type: 'list', items: { type: 'string', required: true } }, ['a', ''])
  assert.deepEqual(
    [withEmptyText.errors, withEmptyText.missing],
    [[], [{ path: '/config/x/1', message: 'is required' }]],
  )
  const fromVariable = checked({ ...broker, env: 'BROKER' }, undefined, { BROKER: '{"port": 5}' })
  assert.deepEqual(fromVariable.missing, [{ path: '/config/x/host', message: 'is required' }])
  // What is not there needs nothing within; where the whole is needed, an empty list is one.
  assert.deepEqual(checked(broker, undefined).missing, [])
  assert.deepEqual(checked({ ...texts, required: true }, undefined).missing, [
    { path: '/config/x', message: 'is required' },
  ])
  assert.deepEqual(checked({ ...texts, required: true }, []).missing, [])
})

test('what is set is filled with its defaults, what is not set is absent, and keys that nothing names are kept', () => {
  const cases: [ConfigDefinition, unknown, Config][] = [
    [rules, undefined, {}],
    [rules, null, {}],
    [
      rules,
      [{ from: 'a', to: 'b', more: [1] }],
      { x: [{ from: 'a', to: 'b', more: [1], scale: 1, kind: 'a' }] },
    ],
    [rules, [{ from: 'a', to: 'b', scale: null }], { x: [{ from: 'a', to: 'b', scale: 1, kind: 'a' }] }],
    [texts, [], { x: [] }],
    [broker, undefined, {}],
    [broker, { host: 'a' }, { x: { host: 'a', port: 1883 } }],
    [broker, { host: 'a', options: {} }, { x: { host: 'a', port: 1883, options: { clean: true } } }],
    [{ ...broker, default: { host: 'd', port: '5' } }, undefined, { x: { host: 'd', port: 5 } }],
    [
      { ...rules, default: [{ from: 'a', to: 'b' }] },
      undefined,
      { x: [{ from: 'a', to: 'b', scale: 1, kind: 'a' }] },
    ],
    [{ ...rules, default: [] }, undefined, { x: [] }],
    [
      { ...rules, default: '[{"from": "a", "to": "b", "scale": "2"}]' },
      undefined,
      { x: [{ from: 'a', to: 'b', scale: 2, kind: 'a' }] },
    ],
    [{ type: 'list', items: { type: 'number' }, default: ['1', 2] }, undefined, { x: [1, 2] }],
    [{ ...rules, default: 'none' }, undefined, {}],
    [{ type: 'list', items: { type: 'number', default: 7 } }, [1, null], { x: [1, 7] }],
  ]
  for (const [definition, value, expected] of cases) {
    const once = checked(definition, value)
    assert.deepEqual([once.errors, once.missing, once.effective], [[], [], expected], JSON.stringify(value))
    assert.deepEqual(checked(definition, once.effective.x), once, 'the same again')
  }
})

test('what is set nowhere is read from the environment, within lists and objects too', () => {
  const secretive: ConfigDefinition = {
    type: 'list',
    fields: [{ key: 'name' }, { key: 'password', type: 'string', env: 'PASSWORD' }],
  }
  const variables = { PASSWORD: 'p', LIST: '["a", "b"]', BROKEN: '[1' }
  assert.deepEqual(checked(secretive, [{ name: 'a' }, { name: 'b', password: 'own' }], variables).effective, {
    x: [
      { name: 'a', password: 'p' },
      { name: 'b', password: 'own' },
    ],
  })
  assert.deepEqual(checked({ ...texts, env: 'LIST' }, undefined, variables).effective, { x: ['a', 'b'] })
  assert.deepEqual(checked({ ...texts, env: 'BROKEN' }, undefined, variables).missing, [
    { path: '/config/x', message: 'the environment variable BROKEN must be a list' },
  ])
  assert.deepEqual(
    checked({ type: 'list', items: { type: 'number' }, env: 'LIST' }, undefined, variables).missing.map(
      ({ path }) => path,
    ),
    ['/config/x/0', '/config/x/1'],
  )
  const closed = createHostEnvironment(variables, [])({})
  const placed = allFields(
    fieldsOf({
      x: secretive,
      y: { ...broker, fields: [{ key: 'auth', type: 'object', fields: [{ key: 'user', env: 'LIST' }] }] },
    }),
  )
  assert.deepEqual(
    environmentUse(placed, closed).refused.map(({ key, variable }) => [key, variable]),
    [
      ['x[].password', 'PASSWORD'],
      ['y.auth.user', 'LIST'],
    ],
  )
  const { warnings } = check(fieldsOf({ x: secretive }), { x: [{}] }, closed)
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['/config/x/0/password'],
  )
})

test('a hidden field is not required, and its value is kept and given', () => {
  const fields: ConfigDefinition['fields'] = [
    { key: 'mode', type: 'select', enum: ['mqtt', 'http'], default: 'http' },
    { key: 'topic', type: 'string', required: true, showIf: { mode: 'mqtt' } },
    { key: 'url', type: 'string', required: true, showIf: { mode: ['http', 'https'] } },
    { key: 'tls', type: 'boolean' },
    { key: 'certificate', type: 'string', required: true, showIf: { tls: true, mode: 'mqtt' } },
    { key: 'inner', type: 'object', showIf: { mode: 'mqtt' }, fields: [{ key: 'need', required: true }] },
  ]
  const cases: [Config, string[]][] = [
    [{}, ['url']],
    [{ mode: 'mqtt' }, ['topic']],
    [{ mode: 'mqtt', tls: true }, ['topic', 'certificate']],
    [{ mode: 'http', tls: true, url: 'u', topic: 't' }, []],
    [{ mode: 'http', url: 'u', inner: {} }, []],
    [{ mode: 'mqtt', topic: 't', inner: {} }, ['inner/need']],
  ]
  for (const [value, expected] of cases) {
    for (const place of ['object', 'list'] as const) {
      const given = place === 'list' ? [value] : value
      const { errors, missing, effective } = checked({ type: place, fields }, given)
      const path = place === 'list' ? '/config/x/0' : '/config/x'
      assert.deepEqual(
        [errors, missing.map((one) => one.path)],
        [[], expected.map((key) => `${path}/${key}`)],
        JSON.stringify(value),
      )
      const row = place === 'list' ? (effective.x as Config[])[0] : (effective.x as Config)
      assert.deepEqual({ ...row, mode: undefined }, { ...value, mode: undefined })
    }
  }
})

test('the normalised form names everything, and knows what is a secret within', () => {
  const [list, object] = normaliseFields({
    configSchema: [
      {
        key: 'rows',
        type: 'list',
        fields: [{ key: 'token' }, { key: 'n', type: 'number', default: '5', unit: 's', advanced: true }],
        items: { type: 'string' },
      },
      {
        key: 'one',
        type: 'object',
        group: 'Broker',
        fields: [
          {
            key: 'list',
            type: 'list',
            items: { type: 'password' },
            suggest: 'topic',
            placeholder: 'p',
            showIf: { a: 1 },
          },
        ],
      },
    ],
  })
  assert.deepEqual(
    list?.fields?.map(({ key, secret, default: fallback, unit, advanced }) => [
      key,
      secret,
      fallback,
      unit,
      advanced,
    ]),
    [
      ['token', true, null, null, null],
      ['n', false, 5, 's', true],
    ],
  )
  assert.equal(list?.items, null)
  const inner = object?.fields?.[0]
  assert.deepEqual(
    [
      object?.group,
      inner?.items?.key,
      inner?.items?.secret,
      inner?.suggest,
      inner?.placeholder,
      inner?.showIf,
    ],
    ['Broker', '', true, 'topic', 'p', { a: 1 }],
  )
})
