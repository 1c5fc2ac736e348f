import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

test('crossings become events, and the state is an object and a sensor', { timeout }, async (context) => {
  const config = { topic: 'cellar/freezer', path: 'inside.temperature', limit: -15, hysteresis: 2 }
  const plugin = await startStarterPlugin('threshold', config)
  context.after(() => plugin.close())
  const events = await plugin.listen(`${plugin.topic}/events/+`)
  for (const temperature of [-18, -15, -16.5, -17.2]) {
    await plugin.publish('cellar/freezer', JSON.stringify({ inside: { temperature } }))
  }

  const told: unknown[] = []
  for (const _ of ['above', 'below']) {
    const { topic, payload } = await events.next()
    const { timestamp, ...crossing } = JSON.parse(payload) as Record<string, unknown>
    assert.equal(typeof timestamp, 'number')
    told.push([topic.split('/').pop(), crossing])
  }
  assert.deepEqual(told, [
    ['threshold:above', { state: 'above', value: -15, limit: -15, topic: 'cellar/freezer' }],
    ['threshold:below', { state: 'below', value: -17.2, limit: -15, topic: 'cellar/freezer' }],
  ])

  assert.equal((await plugin.objects()).crossing?.state, 'below')
  assert.deepEqual(await plugin.sensors(), { state: 'below', value: -17.2 })
})

test('a message without a number is passed over and reported once', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('threshold', { topic: 'tank', limit: 10 })
  context.after(() => plugin.close())
  const events = await plugin.listen(`${plugin.topic}/events/+`)
  for (const payload of ['5', 'full', 'full', '', '12']) await plugin.publish('tank', payload)
  assert.equal((await events.next()).topic, `${plugin.topic}/events/threshold:above`)
  assert.deepEqual(await plugin.logs('warn'), ['tank: the payload is not a number'])
})

test('a path that cannot be read is said in the log', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('threshold', { topic: 'tank', path: 'a..b', limit: 10 })
  context.after(() => plugin.close())
  assert.match((await plugin.logs('error')).join(), /cannot read the path 'a\.\.b'/)
})
