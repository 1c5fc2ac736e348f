import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManifestParser, keptBytesLimit } from '../../../src/repository/directories/parsed-manifests.ts'
import { identifierOf } from '../../../src/schema/names/identifier.ts'

test('of large manifests those are kept that were asked for last, as far as there is room for their texts', () => {
  const parse = createManifestParser()
  const plugin = identifierOf('@test/clock')
  const quarter = (version: number): Uint8Array =>
    Buffer.from(
      JSON.stringify({
        ...{ id: 'clock', name: 'Clock', version: `${version}.0.0` },
        more: 'x'.repeat(keptBytesLimit / 4 - 200),
      }),
    )
  const texts = [1, 2, 3, 4, 5].map(quarter)
  const [first, second, third, fourth] = texts.slice(0, 4).map((text) => parse(text, plugin))
  const [one, two, three, four, five] = texts
  assert.ok(one && two && three && four && five)
  assert.equal(parse(one, plugin), first)
  parse(five, plugin)
  assert.deepEqual(
    [parse(one, plugin) === first, parse(three, plugin) === third, parse(four, plugin) === fourth],
    [true, true, true],
  )
  assert.notEqual(parse(two, plugin), second)
})
