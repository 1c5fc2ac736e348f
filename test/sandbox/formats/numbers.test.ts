import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, pluginSource } from '../stage.ts'

for (const [call, printed] of [
  ['numbers.round(1.005, 2)', '1.01'],
  ['numbers.round(-2.5)', '-3'],
  ['numbers.round("2.449", 1)', '2.4'],
  ['numbers.round(1e300, 3)', '1e+300'],
  ['numbers.round(true, 1)', 'true'],
  ['numbers.round(1, 16)', 'nil\tround takes a whole number from 0 to 15'],
  ['numbers.scale("215", { scale = 0.1 })', '21.5'],
  ['numbers.scale(68, { scale = 0.5556, offset = -17.7778, round = 1 })', '20'],
  ['numbers.scale("1.10", {})', '1.10'],
  ['numbers.scale("off", { scale = 2 })', 'off'],
  ['numbers.scale(nil, { scale = 2 })', 'nil'],
  ['numbers.scale(1, { scale = "x" })', 'nil\tscale must be a number'],
] as const) {
  test(`${call} is ${printed}`, async () => {
    assert.deepEqual(await linesOf(pluginSource(`print(${call})`)), [printed])
  })
}
