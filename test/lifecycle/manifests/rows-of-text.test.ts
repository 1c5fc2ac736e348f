import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseFields } from '../../../src/lifecycle/manifests/fields.ts'
import { rowsOfText, withRows } from '../../../src/lifecycle/manifests/rows-of-text.ts'
import type { Field } from '../../../src/schema/manifest/field.ts'
import type { ConfigSchemaEntry } from '../../../src/schema/manifest/field-definition.ts'

function list(lines: string[], fields: ConfigSchemaEntry[]): Field {
  const [field] = normaliseFields({ configSchema: [{ key: 'x', type: 'list', lines, fields }] })
  assert.ok(field)
  return field
}

const pairs: ConfigSchemaEntry[] = [{ key: 'old' }, { key: 'new', required: true }]
const bridge = list(
  ['{from} -> {to} {…}'],
  [
    { key: 'from', type: 'string' },
    { key: 'to', type: 'string' },
    { key: 'scale', type: 'number' },
    { key: 'qos', type: 'integer', enum: [0, 1, 2] },
    { key: 'retain', type: 'boolean' },
    { key: 'rename', type: 'list', fields: pairs },
    { key: 'tags', type: 'list', items: { type: 'string' } },
  ],
)
const schedule = list(
  ['{name}: {when} -> {topic} {payload…}', '{name}: {when…}'],
  ['name', 'when', 'topic', 'payload'].map((key) => ({ key, type: 'string' })),
)
const people = list(
  ['{name}: {addresses|topics…}'],
  [
    { key: 'name', type: 'string' },
    { key: 'topics', type: 'list', items: { type: 'string' } },
    { key: 'addresses', type: 'list', items: { type: 'string' } },
  ],
)
const registers = list(
  ['{id} = {kind} {address} {type} {…}', '{id} = {kind} {address} {…}'],
  [
    { key: 'id', type: 'string' },
    { key: 'kind', enum: ['input', 'coil'] },
    { key: 'address', type: 'integer', min: 0 },
    { key: 'type', enum: ['int16', 'float32'] },
    { key: 'unit', type: 'string' },
    { key: 'name', type: 'string' },
    { key: 'swap', type: 'boolean' },
  ],
)

const readings = list(
  ['on {topic}: {value} -> {name} {...}', 'on {topic} = {rest...}'],
  [
    { key: 'topic', type: 'string' },
    { key: 'value', type: 'number' },
    { key: 'name', type: 'string' },
    { key: 'rest', type: 'string' },
    { key: 'retain', type: 'boolean' },
  ],
)

test('lines are read as rows, by the first form that takes them', () => {
  const cases: [Field, string, object[]][] = [
    [
      bridge,
      '# comment\n  # another\n\n  \na/+ -> b/+ scale=0.5 retain qos=1\n"living room/lamp" -> "b c"\n',
      [
        { from: 'a/+', to: 'b/+', scale: 0.5, retain: true, qos: 1 },
        { from: 'living room/lamp', to: 'b c' },
      ],
    ],
    [
      bridge,
      'a -> b; c -> d;',
      [
        { from: 'a', to: 'b' },
        { from: 'c', to: 'd' },
      ],
    ],
    [
      bridge,
      'a -> b;c -> d',
      [
        { from: 'a', to: 'b' },
        { from: 'c', to: 'd' },
      ],
    ],
    [
      bridge,
      'a -> b rename=x:y:v,z:w tags=one,two',
      [
        {
          from: 'a',
          to: 'b',
          rename: [
            { old: 'x', new: 'y:v' },
            { old: 'z', new: 'w' },
          ],
          tags: ['one', 'two'],
        },
      ],
    ],
    [
      schedule,
      'morning: 30 6 * * mon-fri -> heating/set {"mode": "heat"}\nnight: 0 22 * * *\nx: @daily -> "a b"',
      [
        { name: 'morning', when: '30 6 * * mon-fri', topic: 'heating/set', payload: '{"mode": "heat"}' },
        { name: 'night', when: '0 22 * * *' },
        { name: 'x', when: '@daily', topic: 'a b' },
      ],
    ],
    [
      people,
      'Anna: phones/anna; Ben Mar: router/ben, http://192.168.1.23/',
      [
        { name: 'Anna', topics: ['phones/anna'] },
        { name: 'Ben Mar', addresses: ['http://192.168.1.23/'], topics: ['router/ben'] },
      ],
    ],
    [
      registers,
      'a = input 0x34 float32 unit=W\nb=coil 16 swap name="two words"',
      [
        { id: 'a', kind: 'input', address: 52, type: 'float32', unit: 'W' },
        { id: 'b', kind: 'coil', address: 16, swap: true, name: 'two words' },
      ],
    ],
    [
      bridge,
      'a -> b;\r\nc -> d;\r\n',
      [
        { from: 'a', to: 'b' },
        { from: 'c', to: 'd' },
      ],
    ],
    // One address, and not two lines of which the second has a name and a topic.
    [people, 'Anna: http://a.example/x;y:z', [{ name: 'Anna', addresses: ['http://a.example/x;y:z'] }]],
    [
      readings,
      'on a: 5 -> b retain\non a = 5 -> b retain',
      [
        { topic: 'a', value: 5, name: 'b', retain: true },
        { topic: 'a', rest: '5 -> b retain' },
      ],
    ],
    [bridge, '', []],
  ]
  for (const [field, text, rows] of cases) {
    assert.deepEqual(rowsOfText(field, text), { rows, unread: [] }, text)
    const [plain] = normaliseFields({ configSchema: [{ key: 'y', type: 'string' }] })
    assert.ok(plain)
    assert.deepEqual(withRows([plain, field], { x: text, y: text }), { x: rows, y: text })
  }
})

test('a text as long as a request may be is read soon', () => {
  const texts = [
    `a -> b ${'retain '.repeat(140_000)}`,
    'a -> b scale=2\n'.repeat(65_000),
    `a -> "${'x" '.repeat(250_000)}`,
    'a -> b;'.repeat(140_000),
    `${' '.repeat(900_000)}a -> b`,
  ]
  const before = process.cpuUsage()
  for (const text of texts) rowsOfText(bridge, text)
  const { user } = process.cpuUsage(before)
  assert.ok(user < 10_000_000, `${user / 1000} ms of the processor`)
})

test('a line that is no row is told with its number, and the text stays as it is stored', () => {
  const cases: [Field, string, number, string][] = [
    [bridge, 'a -> b\nc d', 1, 'line 2 ("c d") is left out: it does not read as {from} -> {to} {…}'],
    [bridge, 'a -> b scale=often', 0, 'line 1 ("a -> b scale=often") is left out: scale must be a number'],
    [bridge, 'a -> b qos=3', 0, 'line 1 ("a -> b qos=3") is left out: qos must be one of 0, 1, 2'],
    [bridge, 'a -> b speed=3', 0, 'line 1 ("a -> b speed=3") is left out: speed=3 is no option'],
    [bridge, 'a -> "b', 0, 'line 1 ("a -> \\"b") is left out: it does not read as {from} -> {to} {…}'],
    [
      bridge,
      '"a b" => c',
      0,
      'line 1 ("\\"a b\\" => c") is left out: it does not read as {from} -> {to} {…}',
    ],
    [bridge, 'a -> b retain=1 "c', 0, 'line 1 ("a -> b retain=1 \\"c") is left out: "c cannot be read'],
    [bridge, 'a -> b qos', 0, 'line 1 ("a -> b qos") is left out: qos is no option'],
    [bridge, 'a -> b rename=w:v,x', 0, 'line 1 ("a -> b rename=w:v,x") is left out: rename lacks new'],
    [list(['{old} {other}'], pairs), 'a b', 0, 'line 1 ("a b") is left out: there is no column other'],
    // Of two forms, what is wrong with a value says more than that the other one is not it.
    [readings, 'on a: x -> b', 0, 'line 1 ("on a: x -> b") is left out: value must be a number'],
    [
      readings,
      'off a = 5',
      0,
      'line 1 ("off a = 5") is left out: it does not read as on {topic}: {value} -> {name} {...}',
    ],
    [registers, 'a = input 5 int64', 0, 'line 1 ("a = input 5 int64") is left out: int64 is no option'],
    [registers, 'x = wire 5', 0, 'line 1 ("x = wire 5") is left out: kind must be one of "input", "coil"'],
  ]
  for (const [field, text, rows, message] of cases) {
    const read = rowsOfText(field, text)
    assert.deepEqual([read?.rows.length, read?.unread], [rows, [message]], text)
    assert.deepEqual(withRows([field], { x: text }), { x: text })
  }
  const unreadable = normaliseFields({
    config: {
      plain: { type: 'list', items: { type: 'string' } },
      withoutColumns: { type: 'list', items: { type: 'string' }, lines: ['{a}'] },
      withoutLines: { type: 'list', fields: pairs },
    },
  })
  assert.deepEqual(
    unreadable.map((field) => rowsOfText(field, 'a b')),
    [undefined, undefined, undefined],
  )
})

test('what is wrong with a line that may have a secret in it is told without the line', () => {
  const accounts = list(
    ['{user} = {password} {…}'],
    [{ key: 'user' }, { key: 'password' }, { key: 'level', type: 'integer', max: 3 }],
  )
  const text = 'ada = pass-a\npass-b\nbob = pass-c level=9 pass-d\n'
  assert.deepEqual(rowsOfText(accounts, text), {
    rows: [{ user: 'ada', password: 'pass-a' }],
    unread: [2, 3].map((line) => `line ${line} is left out: it does not read as {user} = {password} {…}`),
  })
})
