import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
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
