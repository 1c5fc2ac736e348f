import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig } from '../../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../../src/lifecycle/permissions/plugin-environment.ts'
import type { ConfigDefinition } from '../../../src/schema/manifest/field-definition.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'

/** Where what is wrong with a list stops the saving, and where it stops the load. */

function placesOf(definition: ConfigDefinition, given: Config, variables: Record<string, string> = {}) {
  const environment = createHostEnvironment(variables, undefined)({})
  const { errors, missing } = checkConfig(normaliseFields({ config: { x: definition } }), given, environment)
  return { saving: errors.map(({ path }) => path), load: missing.map(({ path }) => path) }
}

const fields = [
  { key: 'to', type: 'string', required: true },
  { key: 'scale', type: 'number', max: 10 },
  { key: 'kind', default: 'a' },
] as const
const beyond = [{ to: 'a', scale: 99 }]

test('a list that the author gives by default is right, whatever the bounds say, and no other one because of it', () => {
  const rows: ConfigDefinition = { type: 'list', fields: [...fields], default: beyond }
  const none = { saving: [], load: [] }
  assert.deepEqual(placesOf(rows, {}), none)
  assert.deepEqual(placesOf(rows, { x: beyond }), none)
  assert.deepEqual(placesOf(rows, { x: [{ to: 'b', scale: 99 }] }), {
    saving: ['/config/x/0/scale'],
    load: [],
  })
  const whole: ConfigDefinition = { type: 'object', fields: [...fields], default: { to: 'a', scale: 99 } }
  assert.deepEqual(placesOf(whole, { x: { to: 'a', scale: 99 } }), none)
  assert.deepEqual(placesOf(whole, { x: { to: 'a', scale: 98 } }).saving, ['/config/x/scale'])
})

test('what is wrong or missing in a list of the environment, or missing in a default, stops the load alone', () => {
  const rows: ConfigDefinition = { type: 'list', fields: [...fields], env: 'ROWS' }
  const variables = { ROWS: '[{ "to": "a", "scale": 99 }, { "scale": 1 }]' }
  assert.deepEqual(placesOf(rows, {}, variables), {
    saving: [],
    load: ['/config/x/1/to', '/config/x/0/scale'],
  })
  assert.deepEqual(placesOf({ ...rows, default: [{ scale: 1 }] }, {}), {
    saving: [],
    load: ['/config/x/0/to'],
  })
})
