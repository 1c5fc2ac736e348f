import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)
const parse = (text: string): any[] => lua.call('registers', 'parse', text)

test('lines give kind, address, type and options', () => {
  const [entries, refused] = parse(
    'power = input 52 float32 swap unit=W device=3\nenergy = holding 0x48 uint32 scale=0.01\nplain = holding 7\npump = coil 16 name="The pump"',
  )
  assert.deepEqual(entries, [
    { id: 'power', kind: 'input', address: 52, type: 'float32', size: 2, swap: true, unit: 'W', device: 3 },
    { id: 'energy', kind: 'holding', address: 72, type: 'uint32', size: 2, scale: 0.01 },
    { id: 'plain', kind: 'holding', address: 7, type: 'uint16', size: 1 },
    { id: 'pump', kind: 'coil', address: 16, type: 'bit', size: 1, name: 'The pump' },
  ])
  assert.deepEqual(refused, {})
})

for (const [line, message] of [
  ['a = input', /expected: id = holding\|input/],
  ['a = register 5', /expected: id = holding\|input/],
  ['a = input 70000', /the address is 0 to 65535/],
  ['a = input 1.5', /the address is 0 to 65535/],
  ['a = input 1 float64', /'float64' is not an option; there are the types/],
  ['a = coil 1 int16', /'int16' is not an option/],
  ['a = input 1 device=300', /device=300 is not a whole number from 0 to 255/],
] as [string, RegExp][]) {
  test(`'${line}' is refused with a reason`, () => {
    const [, refused] = parse(line)
    assert.match(refused[0].message, message)
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

test('both plugins that read lines read them with the same code', () => {
  const read = (path: string): string => readFileSync(`${folder}/${path}`, 'utf8')
  assert.equal(read('lines.lua'), read('../http-sensor/lines.lua'))
})
