import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesWith } from './plugins-stage.ts'

test('§9 a call hands over numbers, strings of bytes, booleans and nil exactly, both ways', async () => {
  const lines = await linesWith(
    `function plugin:echo(...) return select("#", ...), ... end`,
    `
      print(other:echo(1, 0.1, -0.0, 2^53, 1/0, true, false, "text", nil))
      print(other:echo())
      print(other:echo(nil, nil))
      local n, bytes = other:echo("\\0\\255\\128 ä")
      print(n, bytes == "\\0\\255\\128 ä", #bytes)
      local _, nan = other:echo(0/0)
      print(nan ~= nan)
    `,
  )
  assert.deepEqual(lines, [
    '9\t1\t0.1\t0\t9007199254740992\tinf\ttrue\tfalse\ttext\tnil',
    '0',
    '2\tnil\tnil',
    '1\ttrue\t6',
    'true',
  ])
})
