import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexEntriesLimit, readIndexFile } from '../../../src/repository/index/index-file.ts'

const read = (head: object, ...plugins: unknown[]) =>
  readIndexFile(
    Buffer.from(JSON.stringify({ version: 1, name: 'Mine', namespace: 'mine', ...head, plugins })),
  )

const entry = { id: 'lamp', name: 'Lamp', version: '1.0.0', path: 'lamp' }

/** Members of an entry as people write them, and as they are read. */
const readAs: [Record<string, unknown>, Record<string, unknown>][] = [
  [{ version: '1.0' }, { version: '1.0.0' }],
  [{ version: 2 }, { version: '2.0.0' }],
  [{ minHostVersion: '1' }, { minHostVersion: '1.0.0' }],
  [{ author: { name: 'Ada' } }, { author: 'Ada' }],
  [{ author: null, description: null, tags: null, files: null, sha256: null, permissions: null }, {}],
  [{ tags: 'light', description: 5, minHostVersion: 'new' }, {}],
  [{ files: ['./init.lua'] }, { files: ['init.lua'] }],
  [{ more: [null] }, { more: [null] }],
]

test('entries are read as they are meant', () => {
  for (const [written, expected] of readAs) {
    const { index, unusable } = read({}, { ...entry, ...written })
    assert.deepEqual([index.plugins, unusable], [[{ ...entry, ...expected }], []], JSON.stringify(written))
  }
})

test('of a name, a description and an author without end the catalog has the beginning', () => {
  const long = 'x'.repeat(100_000)
  const { index, unusable } = read(
    { name: long, description: long, author: long },
    { ...entry, name: long, description: long, author: { name: long } },
  )
  assert.deepEqual(unusable, [])
  for (const { name, description = '', author = '' } of [index, ...index.plugins]) {
    assert.deepEqual(
      [name, description, author].map((text) => Buffer.byteLength(text)),
      [512, 4096, 512],
    )
    assert.match(name, /^x{400,}… \(100,000 bytes\)$/)
  }
})

test('tags, addresses and dates of an index have an end, too', () => {
  const long = 'x'.repeat(100_000)
  const tags = [long, ...Array<string>(200).fill('a')]
  const { index, unusable } = read(
    { url: long, updated: long, homepage: long },
    { ...entry, tags, homepage: long },
  )
  assert.deepEqual(unusable, [])
  assert.ok(JSON.stringify(index).length < 10_000)
  assert.equal(index.plugins[0]?.tags?.length, 100)
})

test('what cannot be used is set aside with its place, and hides no other', () => {
  const broken = [
    { version: 'new' },
    { name: null },
    { path: '../x' },
    { files: ['../x'] },
    { sha256: { 'init.lua': 'abc' } },
    { id: '@other/lamp' },
  ]
  const { index, unusable } = read({}, 5, ...broken.map((part) => ({ ...entry, ...part })), entry)
  assert.deepEqual(index.plugins, [entry])
  assert.deepEqual(
    unusable.map(({ errors: [first] }) => first?.path),
    [
      '/plugins/0',
      '/plugins/1/version',
      '/plugins/2/name',
      '/plugins/3/path',
      '/plugins/4/files/0',
      '/plugins/5/sha256/init.lua',
      '/plugins/6/id',
    ],
  )
})

test('an index says of itself what it likes, as long as it has a name and a namespace', () => {
  const { index } = read({ author: { name: 'Ada' }, description: null, url: 5, updated: null })
  assert.deepEqual(index, { version: 1, name: 'Mine', namespace: 'mine', author: 'Ada', plugins: [] })
  assert.throws(() => read({ namespace: null }), /is not an index: \/namespace is required/)
  assert.throws(
    () => read({ namespace: 'My Plugins' }),
    /is not an index: \/namespace must be 1 to 64 of a-z, 0-9, \., _ and -, beginning with a letter or digit, without --$/,
  )
})

test('an index of nothing but mistakes hides no good entry, and is not told of without end', () => {
  const mistakes = Array.from({ length: 300 }, () => ({ ...entry, name: 5 }))
  const { index, unusable, unnamed } = read({}, ...mistakes, entry)
  assert.deepEqual([index.plugins, unusable.length, unnamed], [[entry], 200, 100])
  // Where only what people read is wrong, all can be used, however many there are.
  const sloppy = Array.from({ length: 300 }, () => ({ ...entry, tags: 'light' }))
  const found = read({}, ...sloppy, entry)
  assert.deepEqual([found.index.plugins.length, found.unusable, found.unnamed], [301, [], 0])
})

test('an index with more entries than a repository can have is refused before anybody looks at them', () => {
  const entries = Array.from({ length: indexEntriesLimit + 1 }, () => 1)
  assert.throws(() => read({}, ...entries), /has 20001 entries, and this host reads at most 20000/)
})

test('the versions of each plugin are found together, the newest first', () => {
  const lamp = (version: string, id = 'lamp') => ({ ...entry, id, version })
  const { byPlugin } = read(
    {},
    lamp('1.0.0'),
    lamp('1.0.0', 'sun'),
    lamp('2.0.0', '@mine/lamp'),
    lamp('1.5.0'),
  )
  assert.deepEqual(
    [...byPlugin].map(([fullId, entries]) => [fullId, entries.map(({ version }) => version)]),
    [
      ['@mine/lamp', ['2.0.0', '1.5.0', '1.0.0']],
      ['@mine/sun', ['1.0.0']],
    ],
  )
})
