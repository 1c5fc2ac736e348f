import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { damaged, dsmr2, dsmr4, dsmr5 } from './example-telegrams.ts'

const feed = `
  local telegrams = require("telegrams")
  return { all = function(chunks)
    local read, found = telegrams.reader(), {}
    for _, chunk in ipairs(chunks) do
      for _, each in ipairs(read(chunk)) do found[#found + 1] = each.text or each.fault end
    end
    return found
  end }
`
const lua = openLuaModules(fileURLToPath(new URL('.', import.meta.url)), {
  feed: new TextEncoder().encode(feed),
})

/** Telegrams and faults, in order. */
function read(...chunks: string[]): string[] {
  const [found] = lua.call('feed', 'all', chunks)
  return Array.isArray(found) ? (found as string[]) : []
}

/** From "/" to "!". */
const text = (telegram: string): string => telegram.slice(0, telegram.indexOf('!') + 1)
const half = (telegram: string): string => telegram.slice(0, telegram.length / 2)
const wrong = 'the check sum is wrong'
const missing = 'the check sum is missing'

for (const [what, chunks, expected] of [
  ['telegrams of all versions, one after the other', [dsmr5 + dsmr4 + dsmr2], [dsmr5, dsmr4, dsmr2]],
  ['a telegram that comes byte by byte', [...dsmr4], [dsmr4]],
  ['old telegrams byte by byte', [...dsmr2, ...dsmr2], [dsmr2, dsmr2]],
  ['a second half first', [dsmr5.slice(300), dsmr4], [dsmr4]],
  ['a first half, and a whole one right after it', [half(dsmr5), dsmr4], [dsmr4]],
  ['a half without a check sum, and a whole one', [half(dsmr2) + dsmr2], [dsmr2]],
  ['what is no telegram around one', ['\0\xff!!/x!12', dsmr4, '/abc\r\n'], [dsmr4]],
  ['a check sum in small letters', [dsmr5.replace('6EEE', '6eee')], [dsmr5]],
  ['a wrong value', [damaged + dsmr4], [wrong, dsmr4]],
  ['a hole in the middle', [dsmr5.slice(0, 300) + dsmr5.slice(400), dsmr4], [wrong, dsmr4]],
  ['half a check sum', [dsmr5.slice(0, -4), '\r\n', dsmr4], [missing, dsmr4]],
  ['a check sum that got lost', [text(dsmr5), '\r\n', dsmr4], [missing, dsmr4]],
  [
    'a telegram without an end',
    ['/ISk5' + 'x'.repeat(20_000), dsmr4],
    ['no telegram ends within 16384 bytes', dsmr4],
  ],
] as [string, string[], string[]][]) {
  test(`framing: ${what}`, () => {
    const wanted = expected.map((each) => (each.startsWith('/') ? text(each) : each))
    assert.deepEqual(read(...chunks), wanted)
  })
}

test('the check sum is CRC-16/ARC', () => {
  // The check value of the catalogues of CRCs.
  assert.deepEqual(lua.call('telegrams', 'checkSum', '123456789'), [0xbb3d])
})
