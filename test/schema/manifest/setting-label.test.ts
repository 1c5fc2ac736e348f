import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { labelAndPath, labelAt, labelOfPath } from '../../../src/schema/manifest/setting-label.ts'

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
  assert.equal(labelOfPath([], 'rules[].to'), 'rules, to')
})
