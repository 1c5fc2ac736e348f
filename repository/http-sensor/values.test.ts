import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { starterRows } from '../../test/helpers/starter-rows.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)

/** The rows that can be used, and what is wrong with the others; the lines of earlier versions are rows. */
function parse(given: Json): [any[], string[]] {
  const { rows, errors, unread } = starterRows(folder, 'values', given)
  const [found, refused] = lua.call('values', 'read', rows) as [
    any[],
    { row: number; message: string }[] | object,
  ]
  const messages = Array.isArray(refused) ? refused.map(({ row, message }) => `row ${row}: ${message}`) : []
  return [found, [...errors, ...unread, ...messages]]
}

test('a line of earlier versions gives id, address, path and options', () => {
  const [entries, refused] = parse(
    'power-1 = http://192.168.1.20/a?b=c;d meters[0].power scale=0.1 offset=-2 round=1 unit=W class=power name="Living room" auth',
  )
  const entry = {
    id: 'power-1',
    url: 'http://192.168.1.20/a?b=c;d',
    path: 'meters[0].power',
    scale: 0.1,
    offset: -2,
    round: 1,
    unit: 'W',
    class: 'power',
    name: 'Living room',
    auth: true,
  }
  assert.deepEqual([entries, refused], [[entry], []])
})

test('lines are separated by line breaks or by semicolons, and comments are none', () => {
  const ids = (text: string): string[] => parse(text)[0].map(({ id }: { id: string }) => id)
  assert.deepEqual(ids('# of the house\na = http://x/ a\n\n  b = http://x/ b  \r\nc=http://x/ .'), [
    'a',
    'b',
    'c',
  ])
  assert.deepEqual(ids('a = http://x/?p=1;q=2 a; b = http://x/ b;'), ['a', 'b'])
})

for (const [line, message] of [
  ['power', /does not read as \{id\} = \{url\} \{path\} \{…\}/],
  ['two words = http://x/ a', /the id 'two words' has something else than/],
  ['a = http://x/', /does not read/],
  ['a = x/y z', /'x\/y' is no http or https address/],
  ['a = ftp://x/ z', /'ftp:\/\/x\/' is no http or https address/],
  ['a = http://x/ b..c', /cannot read the path/],
  ['a = http://x/ b fast', /fast is no option/],
  ['a = http://x/ b scale=much', /scale must be a number/],
  ['a = http://x/ b round=1.5', /round must be a whole number/],
  ['a = http://x/ b round=11', /round must be at most 10/],
  ['a = http://x/ b name="open', /cannot be read/],
] as [string, RegExp][]) {
  test(`'${line}' is refused with a reason`, () => {
    const [, refused] = parse(`ok = http://x/ a\n${line}`)
    assert.equal(refused.length, 1)
    assert.match(refused[0] ?? '', /^(line|row) 2/)
    assert.match(refused[0] ?? '', message)
  })
}

test('an id is there once, and the whole document is the default', () => {
  const [entries, refused] = parse([
    { id: 'a', url: 'http://x/' },
    { id: 'a', url: 'http://y/' },
  ])
  assert.deepEqual([entries.map(({ path }) => path), refused], [['.'], ["row 2: the id 'a' is there twice"]])
})

test('values of one address are one request, with and without the token are two', () => {
  const [entries] = parse('a = http://x/1 a\nb = http://x/2 b\nc = http://x/1 c\nd = http://x/1 d auth')
  const sources = lua.call('values', 'sources', entries)[0] as {
    url: string
    place: string
    entries: { id: string }[]
  }[]
  assert.deepEqual(
    sources.map(({ url, place, entries: own }) => [url, own.map(({ id }) => id).join(), place]),
    [
      ['http://x/1', 'a,c', 'http://x/1'],
      ['http://x/2', 'b', 'http://x/2'],
      ['http://x/1', 'd', 'http://x/1 (d)'],
    ],
  )
})

test('an address is shown without password and query', () => {
  const place = (url: string) => lua.call('values', 'place', url)[0]
  assert.equal(place('https://user:p@ss@x.example:8080/a/b@c?token=1#d'), 'https://x.example:8080/a/b@c')
  assert.equal(place('http://x?key=1'), 'http://x')
})

test('a value is found, calculated with when it is a number, and missed with a reason', () => {
  const find = (options: Record<string, Json>, document: Json) =>
    lua.call('values', 'find', { path: 'a', ...options }, document)
  assert.deepEqual(find({}, { a: 'open' }), ['open'])
  assert.deepEqual(find({}, { a: false }), [false])
  assert.deepEqual(find({}, { a: '12' }), ['12'])
  assert.deepEqual(find({ scale: 0.1, offset: 1, round: 1 }, { a: '123.4' }), [13.3])
  assert.deepEqual(find({ scale: 2 }, { a: 'open' }), ['open'])
  assert.deepEqual(find({}, { b: 1 }), [undefined, "there is nothing at 'a'"])
  assert.deepEqual(find({}, 'text'), [undefined, "there is nothing at 'a'"])
  assert.deepEqual(find({}, { a: { b: 1 } }), [undefined, "there is no single value at 'a'"])
})
