import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { startOnStage } from '../../test/helpers/plugin-stage.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

async function readTotal(plugin: StarterPlugin): Promise<unknown> {
  return (await plugin.sensors()).total
}

test('it counts the messages of a topic and tells the last count', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('counter', { topic: 'door/+', step: 2 })
  context.after(() => plugin.close())
  const events = await plugin.listen(`${plugin.topic}/events/counter:changed`)
  for (const door of ['front', 'back', 'cellar']) await plugin.publish(`door/${door}`, 'opened')
  let last: unknown
  do last = await events.nextValue()
  while ((last as { count: number }).count < 6)
  assert.deepEqual(last, { count: 6, previous: 4, reason: 'message' })
  assert.equal(await readTotal(plugin), 6)
})

test('it counts an event of any plugin', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('counter', { event: 'lamp:on' })
  context.after(() => plugin.close())
  const counts = await plugin.listen(`${plugin.topic}/sensors/total`)
  await plugin.host.publish([
    {
      id: 'lamp',
      lua: 'local p = Plugin:new("lamp") p:onInit(function() p:emit("lamp:on") end) return p',
    },
  ])
  const fixtures = { name: 'fixtures', url: plugin.host.repository }
  await plugin.host.request('POST', '/api/repositories', { body: fixtures })
  await plugin.host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/lamp' } })
  await plugin.host.request('POST', '/api/plugins/lamp/toggle')
  let total: unknown
  do total = await counts.nextValue()
  while (total !== 1)
})

test(
  'the control sets the count within its range, the button sets it to 0',
  {
    timeout,
  },
  async (context) => {
    const plugin = await startStarterPlugin('counter', {})
    context.after(() => plugin.close())
    assert.deepEqual((await plugin.setControl('count', 41)).body, { id: 'count', value: 41 })
    assert.equal(await readTotal(plugin), 41)
    assert.equal((await plugin.setControl('count', -1)).status, 422)
    assert.equal(await readTotal(plugin), 41)
    assert.equal((await plugin.setControl('reset', true)).status, 200)
    assert.equal(await readTotal(plugin), 0)
  },
)

test('the control can be set over MQTT', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('counter', {})
  context.after(() => plugin.close())
  const counts = await plugin.listen(`${plugin.topic}/controls/count`)
  await plugin.publish(`${plugin.topic}/controls/count/set`, '100')
  let count: unknown
  do count = await counts.nextValue()
  while (count !== 100)
})

test('the count outlives a restart and another configuration', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('counter', { topic: 'door' })
  context.after(() => plugin.close())
  await plugin.setControl('count', 12)
  await plugin.restart()
  assert.equal(await readTotal(plugin), 12)
  await plugin.host.request('POST', '/api/plugins/counter/config', { body: { config: { step: 5 } } })
  assert.equal(await readTotal(plugin), 12)
})

test('it refuses to count its own event', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('counter', { event: 'counter:changed' })
  context.after(() => plugin.close())
  assert.match((await plugin.logs('error')).join(), /cannot count counter:changed/)
  await plugin.setControl('count', 3)
  assert.equal(await readTotal(plugin), 3)
})

const folder = fileURLToPath(new URL('.', import.meta.url))
const tally = openLuaModules(folder)

test('counting down ends at zero, counting up at the top of the range', () => {
  const add = (count: number, step: number) => tally.call('tally', 'add', count, step)[0]
  assert.deepEqual([add(3, -2), add(1, -2), add(999_999_999, 5)], [1, 0, 1_000_000_000])
})

test('a daily count of a later date starts over, and a clock that was wrong for a while makes no new day', () => {
  const isStale = (keptOn: string | undefined, lookedOn: string | undefined, today: string, daily = true) =>
    tally.call('tally', 'isStale', keptOn, today, daily, lookedOn)[0]
  assert.deepEqual(
    [
      isStale('2026-06-20', undefined, '2026-06-21'),
      isStale('2026-06-20', '2026-06-20', '2026-06-21'),
      isStale('2026-06-21', undefined, '2026-06-21'),
      isStale(undefined, undefined, '2026-06-21'),
      isStale('2026-06-20', undefined, '2026-06-21', false),
      isStale('2026-06-20', undefined, '1970-01-01'),
      isStale('2026-06-20', '1970-01-01', '2026-06-20'),
      isStale('2026-06-20', '1970-01-01', '2026-06-21'),
      isStale('2036-06-20', '2036-06-20', '2026-06-20'),
      isStale('2036-06-20', '2026-06-20', '2026-06-21'),
    ],
    [true, true, false, false, false, false, false, true, false, true],
  )
})

test('a daily count outlives a clock that is in 1970 for a while, and starts over at midnight', () => {
  const noon = new Date('2026-06-21T12:00:00').getTime() / 1000
  const stage = startOnStage(folder, noon, { daily: true })
  stage.setControl('count', 5)
  for (const seconds of [-noon, noon]) {
    assert.deepEqual(stage.jump(seconds), [])
    assert.equal(stage.sensor('total'), 5)
  }
  stage.setControl('count', 6)
  assert.deepEqual(
    stage.advance(86_400).map(({ data }) => data),
    [{ count: 0, previous: 6, reason: 'day' }],
  )
  stage.setControl('count', 7)
  // A date that never was.
  stage.jump(10 * 365 * 86_400)
  assert.equal(stage.sensor('total'), 0)
  stage.setControl('count', 8)
  assert.deepEqual(stage.jump(-10 * 365 * 86_400), [])
  assert.equal(stage.advance(86_400).length, 1)
  assert.equal(stage.sensor('total'), 0)
})
