import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonList } from '../../../src/http/answers/json-list.ts'
import { createPluginList } from '../../../src/http/answers/plugin-list.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'
import { pluginNamed } from '../../helpers/fake-lifecycle.ts'

/** Characters of all settings together, and bytes of the heap that an answer with them may keep. */
const listed = 32 * 1024 * 1024
const allowed = listed / 8

function heap(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const long = JSON.stringify('ü'.repeat(100_000))

for (const items of [
  [],
  ['1'],
  ['1', '"ü"', '{}'],
  [long, '1', long],
  ['1', Buffer.from('2')],
  [Buffer.from(long), '2', long],
]) {
  test(`a list of ${items.map(({ length }) => length).join(', ') || 'nothing'} has them all in order`, () => {
    const list: unknown = items.map((item) => JSON.parse(item.toString()))
    assert.deepEqual(JSON.parse(jsonList('"items"', items).toString()), { '"items"': list })
  })
}

test('an answer with the settings of all plugins is not in the heap beside them', () => {
  const list = createPluginList()
  const settings = 'x'.repeat(listed / 16)
  const plugins = Array.from({ length: 16 }, (_, number) =>
    pluginNamed(`@a/p${number}`, { config: { settings } }),
  )
  const before = heap()
  const answer = list(plugins)
  const kept = heap() - before
  assert.ok(kept < allowed, `${kept} bytes`)
  assert.deepEqual(JSON.parse(answer.json?.toString() ?? ''), { plugins })
})
