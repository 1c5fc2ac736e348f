import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionInWords, permissionsInWords } from '../../../src/web/base/permission-words.ts'

const labels: Readonly<Record<string, string>> = { topic: 'Topic', url: 'Address' }
const labelOf = (key: string): string => labels[key] ?? key
const unknown = { labelOf, valueOf: () => undefined }
const known = (value: unknown) => ({ labelOf, valueOf: () => value })

const cases: [
  title: string,
  value: string,
  settings: typeof unknown | undefined,
  what: string,
  words: boolean,
][] = [
  ['a topic as it is', 'lamps/#', unknown, 'lamps/#', false],
  ['all topics', '#', unknown, 'any MQTT topic', true],
  ['a setting that is not known yet', '${config.topic}', unknown, 'the topic that you set under Topic', true],
  ['a setting in part', '${config.topic}/set', unknown, '…/set, with what you set under Topic', true],
  ['a setting without a form', '${config.topic}', undefined, 'the topic that you set under topic', true],
  ['a known setting', '${config.topic}', known('home/lamp') as typeof unknown, 'home/lamp', false],
  ['a known setting in part', '${config.topic}/set', known('lamp') as typeof unknown, 'lamp/set', false],
  [
    'a setting that is empty',
    '${config.topic}',
    known('') as typeof unknown,
    'no topic, as none is set',
    true,
  ],
]

for (const [title, value, settings, what, words] of cases) {
  test(`${title} is told to people as "${what}"`, () => {
    const told = permissionInWords({ kind: 'publish', value }, settings)
    assert.deepEqual({ what: told.what, words: told.words }, { what, words })
  })
}

test('an entry that speaks of each row is told by what the rows have', () => {
  const entry = { kind: 'publish', value: '${config.rules[].to}' } as const
  const told = (rows: string[] | undefined) =>
    permissionInWords(entry, { ...unknown, labelOf: () => 'Rules, To', rowsOf: () => rows }).what
  assert.equal(told(['a', 'b']), 'a, b')
  assert.equal(told(['a', 'b', 'c', 'd', 'e', 'f', 'g']), 'a, b, c, d, e and 2 more')
  assert.equal(told([]), 'no topic, as none is set')
  assert.equal(told(undefined), 'the topic that you set under Rules, To')
})

test('other plugins, ports and variables that are told in words are told once what they are', () => {
  const told = (kind: 'plugin' | 'serial' | 'environment', value: string, rows?: string[]): string => {
    const { verb, what = '', rest } = permissionInWords({ kind, value }, { ...unknown, rowsOf: () => rows })
    return `${verb} ${what}${rest}`
  }
  assert.equal(told('plugin', '${config.rules[].sensor}', []), 'Use no plugin, as none is set')
  assert.equal(told('plugin', '${config.topic}'), 'Use the plugin that you set under Topic')
  assert.equal(told('plugin', '@house/lamp'), 'Use the plugin @house/lamp')
  assert.equal(told('plugin', '*'), 'Use any other plugin')
  assert.equal(told('serial', '*'), 'Use any serial port')
  assert.equal(told('environment', '*'), 'Read any variable of the host')
})

test('in a line of the history the settings have their keys', () => {
  const entries = [
    { kind: 'host', value: '${config.url}' },
    { kind: 'subscribe', value: 'a/b' },
  ] as const
  assert.equal(permissionsInWords(entries), 'connect to the address that you set under url, listen to a/b')
  const ofRows = { kind: 'publish', value: '${config.rules[].to}' } as const
  assert.equal(permissionsInWords([ofRows]), 'publish to the topic that you set under rules, to')
})

test('that anybody may ask a plugin is told as what it is', () => {
  const told = permissionInWords({ kind: 'hooks', value: 'public' })
  assert.deepEqual([told.verb, told.what, told.all], ['Be asked', 'by anybody who can reach this host', true])
  const words = permissionsInWords([{ kind: 'hooks', value: 'public' }])
  assert.equal(words, 'be asked by anybody who can reach this host')
})
