import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const lua = openLuaModules(fileURLToPath(new URL('.', import.meta.url)))
const parse = (text: string): any[] => lua.call('values', 'parse', text)

test('a line gives id, address, path and options', () => {
  const [entries, refused] = parse(
    'power-1 = http://192.168.1.20/a?b=c;d meters[0].power scale=0.1 offset=-2 round=1 unit=W class=power name="Living room" auth',
  )
  assert.deepEqual(entries, [
    {
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
    },
  ])
  assert.deepEqual(refused, {})
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
  ['power', /expected: id = …/],
  ['two words = http://x/ a', /expected: id = …/],
  ['a = http://x/', /expected: id = http:\/\/address path/],
  ['a = x/y z', /expected: id = http:\/\/address path/],
  ['a = ftp://x/ z', /expected: id = http:\/\/address path/],
  ['a = http://x/ b..c', /cannot read the path/],
  ['a = http://x/ b fast', /'fast' is not an option; there are scale=/],
  ['a = http://x/ b scale=much', /scale=much is not a number/],
  ['a = http://x/ b round=1.5', /round=1.5 is not a whole number from 0 to 10/],
  ['a = http://x/ b unit=', /unit= is empty/],
  ['a = http://x/ b name="open', /a closing " is missing/],
] as [string, RegExp][]) {
  test(`'${line}' is refused with a reason`, () => {
    const [, refused] = parse(`ok = http://x/ a\n${line}`)
    assert.equal(refused.length, 1)
    assert.equal(refused[0].line, 2)
    assert.match(refused[0].message, message)
  })
}

test('an id is there once', () => {
  const [entries, refused] = parse('a = http://x/ a\na = http://y/ b')
  assert.equal(entries.length, 1)
  assert.deepEqual(refused, [{ line: 2, message: "the id 'a' is there twice" }])
})

test('values of one address are one request, with and without the token are two', () => {
  const [entries] = parse('a = http://x/1 a\nb = http://x/2 b\nc = http://x/1 c\nd = http://x/1 d auth')
  const sources = lua.call('values', 'sources', entries)[0] as { url: string; entries: { id: string }[] }[]
  assert.deepEqual(
    sources.map(({ url, entries: own }) => [url, own.map(({ id }) => id).join()]),
    [
      ['http://x/1', 'a,c'],
      ['http://x/2', 'b'],
      ['http://x/1', 'd'],
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
