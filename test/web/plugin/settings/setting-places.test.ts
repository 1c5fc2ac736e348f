import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseFields } from '../../../../src/lifecycle/manifests/fields.ts'
import { withMovedItem } from '../../../../src/web/base/moved-item.ts'
import { sectionsOf, shownFields, withMember } from '../../../../src/web/plugin/settings/setting-places.ts'

test('fields of a group are together where the first of them is, the advanced ones apart', () => {
  const grouped = normaliseFields({
    configSchema: [
      { key: 'a' },
      { key: 'b', group: 'G' },
      { key: 'c', advanced: true },
      { key: 'd', group: 'G', advanced: true },
      { key: 'e' },
    ],
  })
  const keys = sectionsOf(grouped).map((section) => [
    section.group,
    section.fields.map(({ key }) => key),
    section.advanced.map(({ key }) => key),
  ])
  assert.deepEqual(keys, [
    [null, ['a'], []],
    ['G', ['b'], ['d']],
    [null, ['e'], ['c']],
  ])
})

test('a condition looks at what is typed, and at defaults', () => {
  const conditional = normaliseFields({
    configSchema: [
      { key: 'mode', default: 'a' },
      { key: 'x', showIf: { mode: 'a' } },
      { key: 'y', showIf: { mode: ['b', 'c'] } },
    ],
  })
  const keys = (values: object) => shownFields(conditional, { ...values }).map(({ key }) => key)
  assert.deepEqual(
    [keys({}), keys({ mode: 'c' }), keys({ mode: 'd' })],
    [['mode', 'x'], ['mode', 'y'], ['mode']],
  )
})

test('rows move, and members change in their place', () => {
  assert.deepEqual(withMovedItem(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a'])
  assert.deepEqual(withMovedItem(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b'])
  assert.deepEqual(withMovedItem(['a', undefined], 1, 0), [undefined, 'a'])
  assert.equal(JSON.stringify(withMember({ a: 1, b: 2 }, 'a', 3)), '{"a":3,"b":2}')
  assert.equal(JSON.stringify(withMember({ a: 1, b: 2 }, 'a', undefined)), '{"b":2}')
})
