import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseFields } from '../../../../src/lifecycle/manifests/fields.ts'
import { moved } from '../../../../src/web/base/moved.ts'
import { labelAndPath, labelAt } from '../../../../src/schema/manifest/setting-label.ts'
import {
  labelOfPath,
  sectionsOf,
  shownFields,
  withMember,
} from '../../../../src/web/plugin/settings/setting-places.ts'

const fields = normaliseFields({
  configSchema: [
    { key: 'mode', label: 'Mode', default: 'a' },
    {
      key: 'rules',
      type: 'list',
      label: 'Rules',
      fields: [
        { key: 'to', label: 'To' },
        { key: 'names', label: 'Names', type: 'list', items: { type: 'list', items: { type: 'string' } } },
      ],
    },
    { key: 'broker', type: 'object', label: 'Broker', fields: [{ key: 'a/b', label: 'Odd' }] },
  ],
})

test('a pointer and a path have the names that people know', () => {
  const pointers: [string, string][] = [
    ['/config/mode', 'Mode'],
    ['/config/rules', 'Rules'],
    ['/config/rules/1', 'Rules, row 2'],
    ['/config/rules/1/to', 'Rules, row 2, To'],
    ['/config/rules/0/names/2/3', 'Rules, row 1, Names, value 3, value 4'],
    ['/config/broker/a~1b', 'Broker, Odd'],
    ['/config/other/x', 'other, x'],
  ]
  for (const [pointer, label] of pointers) assert.equal(labelAt(fields, pointer), label)
  assert.equal(labelAndPath(fields, '/config/rules/1/to'), 'Rules, row 2, To (/config/rules/1/to)')
  assert.equal(labelAndPath(fields, '/config/other'), '/config/other')
  assert.equal(labelOfPath(fields, 'rules[].to'), 'Rules, To')
  assert.equal(labelOfPath(fields, 'broker.port'), 'Broker, port')
})

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
  assert.deepEqual(moved(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a'])
  assert.deepEqual(moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b'])
  assert.deepEqual(moved(['a', undefined], 1, 0), [undefined, 'a'])
  assert.equal(JSON.stringify(withMember({ a: 1, b: 2 }, 'a', 3)), '{"a":3,"b":2}')
  assert.equal(JSON.stringify(withMember({ a: 1, b: 2 }, 'a', undefined)), '{"b":2}')
})
