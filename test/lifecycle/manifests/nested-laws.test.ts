import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createKeyRing, looksSealed } from '../../../src/base/keys/key-ring.ts'
import { checkConfig } from '../../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../../src/lifecycle/permissions/plugin-environment.ts'
import { restoreSecrets } from '../../../src/lifecycle/secrets/restore-secrets.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import { secretPaths, wholeConfig } from '../../../src/lifecycle/secrets/secret-places.ts'
import { hideSecrets, secretValues } from '../../../src/lifecycle/secrets/secrets.ts'
import type { Field } from '../../../src/schema/manifest/field.ts'
import type { ConfigDefinition } from '../../../src/schema/manifest/field-definition.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'
import { hiddenValue } from '../../../src/schema/plugin/hidden-value.ts'

/** What holds of any settings, however lists and objects are within one another. */

const keys = ['a', 'b', 'token', 'rows', '__proto__']
const key = fc.constantFrom(...keys)
const scalar: fc.Arbitrary<ConfigDefinition> = fc.record(
  {
    type: fc.constantFrom('string', 'number', 'boolean', 'password', 'integer'),
    required: fc.boolean(),
    default: fc.oneof(fc.constantFrom('5', 'true', ''), fc.integer(), fc.boolean()),
    min: fc.integer({ min: -5, max: 5 }),
    secret: fc.boolean(),
    env: fc.constantFrom('A', 'B'),
    showIf: fc.constantFrom({ a: 'x' }, { b: true }),
  },
  { requiredKeys: [] },
)

function definition(depth: number): fc.Arbitrary<ConfigDefinition> {
  if (depth === 0) return scalar
  const within = definition(depth - 1)
  const fields = fc.uniqueArray(
    fc.tuple(key, within).map(([name, one]) => ({ ...one, key: name })),
    { selector: (field) => field.key, maxLength: 3 },
  )
  const shape = {
    required: fc.boolean(),
    secret: fc.boolean(),
    minItems: fc.nat({ max: 2 }),
    fields,
    items: within,
  }
  return fc.oneof(
    scalar,
    fc.record({ ...shape, type: fc.constantFrom('list', 'object') }, { requiredKeys: ['type'] }),
  )
}

const fields: fc.Arbitrary<Field[]> = fc
  .uniqueArray(fc.tuple(key, definition(3)), { selector: ([name]) => name, maxLength: 4 })
  .map((entries) => normaliseFields({ config: Object.fromEntries(entries) }))

const leaf = fc.constantFrom('x', '', 'y', 1, 5, true, null, hiddenValue)
const value = (depth: number): fc.Arbitrary<unknown> =>
  depth === 0
    ? leaf
    : fc.oneof(
        leaf,
        fc.array(value(depth - 1), { maxLength: 3 }),
        fc
          .array(fc.tuple(key, value(depth - 1)), { maxLength: 4 })
          .map((entries) => Object.fromEntries(entries)),
      )
const config: fc.Arbitrary<Config> = fc
  .array(fc.tuple(key, value(4)), { maxLength: 5 })
  .map((entries) => Object.fromEntries(entries))
const environment = createHostEnvironment({ A: '5', B: 'x' }, undefined)({})

test('what was checked and filled is right, and nothing more is filled in', () => {
  let clean = 0
  fc.assert(
    fc.property(fields, config, (list, given) => {
      const once = checkConfig(list, given, environment)
      if (once.errors.length + once.missing.length > 0) return
      clean += 1
      assert.deepEqual(checkConfig(list, once.effective, environment), once)
    }),
    { numRuns: 3_000 },
  )
  assert.ok(clean > 100, `the law was tried on ${clean} configurations without complaints`)
})

test('every complaint has the pointer of a place that is there, or could be', () => {
  fc.assert(
    fc.property(fields, config, (list, given) => {
      const { errors, missing, warnings } = checkConfig(list, given, environment)
      for (const { path, message } of [...errors, ...missing, ...warnings]) {
        const steps = path.split('/').slice(2, -1)
        let found: unknown = given
        for (const step of steps) {
          // Within a default, which nobody has given.
          if (found === undefined || found === null) break
          assert.ok(typeof found === 'object', `${path} ${message}`)
          found = Object.hasOwn(found, step) ? Reflect.get(found, step) : undefined
        }
      }
    }),
    { numRuns: 2_000 },
  )
})

test('what was hidden and is sent back is as it was, or is refused where rows are alike', () => {
  fc.assert(
    fc.property(fields, config, (list, stored) => {
      const shown = hideSecrets(wholeConfig(list), stored)
      const { config: restored, errors } = restoreSecrets(wholeConfig(list), shown, stored)
      if (errors.length === 0) assert.deepEqual(restored, stored)
      else
        assert.ok(
          errors.every(({ path }) => /\/\d+(\/|$)/.test(path)),
          JSON.stringify(errors),
        )
      const leaked = secretValues(wholeConfig(list), shown).filter((one) => one !== hiddenValue)
      assert.deepEqual(leaked, [])
    }),
    { numRuns: 3_000 },
  )
})

test('what one version declares a secret stays hidden and encrypted where the next one declares nothing', () => {
  const ring = createKeyRing([randomBytes(32)])
  let found = 0
  fc.assert(
    fc.property(fields, config, (list, stored) => {
      const next = wholeConfig([], secretPaths(list))
      found += secretValues(next, stored).length
      const shown = hideSecrets(next, stored)
      const leaked = secretValues(wholeConfig(list), shown).filter((one) => one !== hiddenValue)
      assert.deepEqual(leaked, [])
      const { config: restored, errors } = restoreSecrets(next, shown, stored)
      if (errors.length === 0) assert.deepEqual(restored, stored)
      const sealed = createSecretVault(ring, () => next).seal.config('@a/b', stored)
      const readable = secretValues(wholeConfig(list), sealed).filter((one) => !looksSealed(one))
      assert.deepEqual(readable, [])
    }),
    { numRuns: 3_000 },
  )
  assert.ok(found > 100, `the law was tried on ${found} secrets`)
})

test('what is encrypted comes back as it was, and none of its secrets can be read on disk', () => {
  const ring = createKeyRing([randomBytes(32)])
  fc.assert(
    fc.property(fields, config, (list, given) => {
      const vault = createSecretVault(ring, () => wholeConfig(list))
      const marked = JSON.parse(JSON.stringify(given).replaceAll('"y"', '"canary-value"')) as Config
      const stored = JSON.parse(JSON.stringify(vault.seal.config('@a/b', marked))) as Config
      assert.deepEqual(vault.open.config('@a/b', stored), marked)
      if (!JSON.stringify(hideSecrets(wholeConfig(list), marked)).includes('canary-value')) {
        assert.ok(!JSON.stringify(stored).includes('canary-value'))
      }
    }),
    { numRuns: 1_000 },
  )
})
