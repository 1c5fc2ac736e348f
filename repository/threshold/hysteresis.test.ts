import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const lua = openLuaModules(fileURLToPath(new URL('.', import.meta.url)))

test('the state changes at the limit upwards, and under the band downwards', () => {
  const states: unknown[] = []
  let state: Json | undefined
  for (const value of [-18, -15, -16.5, -17, -17.2, -15.1, -14]) {
    state = lua.call('hysteresis', 'next', state, value, -15, 2)[0] as Json
    states.push(state)
  }
  assert.deepEqual(states, ['below', 'above', 'above', 'above', 'below', 'below', 'above'])
})

test('without a past the limit alone decides', () => {
  const first = (value: number) => lua.call('hysteresis', 'next', undefined, value, 10, 5)[0]
  assert.deepEqual([first(10), first(9), first(4)], ['above', 'below', 'below'])
})

test('without a hysteresis every crossing counts', () => {
  const next = (state: string, value: number) => lua.call('hysteresis', 'next', state, value, 10, 0)[0]
  assert.deepEqual([next('above', 9.99), next('below', 10)], ['below', 'above'])
})

const document = { climate: { temperature: 21.5 }, rooms: [{ power: 3 }, { power: 4 }] }
const paths: [path: string, value: number | undefined][] = [
  ['climate.temperature', 21.5],
  ['$.climate.temperature', 21.5],
  ['rooms[0].power', 3],
  ['$.rooms[1].power', 4],
  ['rooms[2].power', undefined],
  ['climate.temperature.unit', undefined],
  ['climate.humidity', undefined],
]

for (const [path, value] of paths) {
  test(`the path ${path} finds ${value ?? 'nothing'}`, () => {
    const [steps] = lua.call('jsonpath', 'parse', path)
    assert.equal(lua.call('jsonpath', 'find', document, steps as Json)[0], value)
  })
}

test('the empty path is the whole document', () => {
  assert.deepEqual(lua.call('jsonpath', 'parse', ''), [{}])
  assert.deepEqual(lua.call('jsonpath', 'find', 7, []), [7])
})

for (const path of ['a.', 'a..b', '.a', 'a]', 'a[x]', 'a[0]b', 'a[']) {
  test(`the path ${path} is refused`, () => {
    const [steps, problem] = lua.call('jsonpath', 'parse', path)
    assert.equal(steps, undefined)
    assert.match(String(problem), /cannot read the path/)
  })
}
