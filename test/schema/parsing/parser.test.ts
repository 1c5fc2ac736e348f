import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import { createParser } from '../../../src/schema/parsing/parser.ts'

const strict = { additionalProperties: false }
const parse = createParser(
  Type.Object(
    {
      config: Type.Record(Type.String(), Type.Unknown()),
      place: Type.Optional(Type.Object({ host: Type.String() }, strict)),
    },
    strict,
  ),
)
const large = Array.from({ length: 10_000 }, () => 0)

for (const { title, more, errors } of [
  { title: 'a member that is not known', more: { confg: 1 }, errors: [['/confg', 'is not known here']] },
  {
    title: 'a member of another type, and one within another that is not known',
    more: { config: large, place: { host: 'a', hosts: [] } },
    errors: [
      ['/config', 'must be object'],
      ['/place/hosts', 'is not known here'],
    ],
  },
]) {
  test(`in a large command as in a small one it is told which is ${title}`, () => {
    for (const config of [{}, { large }]) {
      const parsed = parse({ config, ...more })
      assert.ok(!parsed.ok)
      assert.deepEqual(
        parsed.errors.map(({ path, message }) => [path, message]),
        errors,
      )
    }
  })
}
