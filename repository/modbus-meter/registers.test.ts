import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { starterRows } from '../../test/helpers/starter-rows.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)

/** Entries, and what is wrong with other rows; the lines of earlier versions are rows. */
function parse(given: Json): [any[], string[]] {
  const { rows, errors, unread } = starterRows(folder, 'registers', given)
  const [found, refused] = lua.call('registers', 'read', rows) as [
    any[],
    { row: number; message: string }[] | object,
  ]
  const messages = Array.isArray(refused) ? refused.map(({ row, message }) => `row ${row}: ${message}`) : []
  return [found, [...errors, ...unread, ...messages]]
}

test('lines of earlier versions give kind, address, type and options', () => {
  const [entries, refused] = parse(
    'power = input 52 float32 swap unit=W device=3\nenergy = holding 0x48 uint32 scale=0.01\nplain = holding 7\npump = coil 16 name="The pump"',
  )
  assert.deepEqual(entries, [
    { id: 'power', kind: 'input', address: 52, type: 'float32', size: 2, swap: true, unit: 'W', device: 3 },
    { id: 'energy', kind: 'holding', address: 72, type: 'uint32', size: 2, scale: 0.01, swap: false },
    { id: 'plain', kind: 'holding', address: 7, type: 'uint16', size: 1, swap: false },
    { id: 'pump', kind: 'coil', address: 16, type: 'bit', size: 1, name: 'The pump', swap: false },
  ])
  assert.deepEqual(refused, [])
})

for (const [line, message] of [
  ['a = input', /does not read as/],
  ['a = register 5', /kind must be one of/],
  ['a = input 70000', /address must be at most 65535/],
  ['a = input 1.5', /address must be a whole number/],
  ['a = input 1 float64', /float64 is no option|type must be one of/],
  ['a = input 1 device=300', /device must be at most 255/],
  ['two words = input 1', /the id 'two words' has something else/],
] as [string, RegExp][]) {
  test(`'${line}' is refused with a reason`, () => {
    const [, refused] = parse(line)
    assert.match(refused.join(), message)
  })
}

const plan = (text: string): unknown[] => {
  const blocks = lua.call('registers', 'plan', parse(text)[0])[0] as any[]
  return blocks.map(({ fc, device, address, count, entries }) => [
    fc,
    device,
    address,
    count,
    entries.map(({ id }: { id: string }) => id).join(),
  ])
}

test('neighbours share a request, gaps and other devices do not', () => {
  assert.deepEqual(
    plan(
      'c = input 4\na = input 0 float32\nb = input 2 uint32\nd = input 6\ne = holding 5\nf = input 7 device=2\ng = input 0',
    ),
    [
      [3, undefined, 5, 1, 'e'],
      [4, undefined, 0, 5, 'a,g,b,c'],
      [4, undefined, 6, 1, 'd'],
      [4, 2, 7, 1, 'f'],
    ],
  )
})

test('a request asks for no more than the protocol lets it', () => {
  const text = Array.from({ length: 130 }, (_, index) => `r${index} = holding ${index}`).join('\n')
  assert.deepEqual(
    plan(text).map((row) => (row as unknown[]).slice(2, 4)),
    [
      [0, 125],
      [125, 5],
    ],
  )
})
