import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

test('messages go on under their new name, changed as the rule says', { timeout }, async (context) => {
  const rules = [
    'meters/+/power -> home/+/watts scale=1000 round=0',
    'weather -> home/outside path=main.temp scale=0.5556 offset=-17.7778 round=1',
    'raw/# -> home/copy/#',
    'sensor -> home/sensor rename=temp:temperature',
  ]
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: rules.join('\n') })
  context.after(() => plugin.close())
  const home = await plugin.listen('home/#')
  await plugin.publish('meters/kitchen/power', '12.345')
  await plugin.publish('weather', '{"main":{"temp":68}}')
  await plugin.publish('raw/a/b', ' {"as": "it is"} ')
  await plugin.publish('sensor', '{"temp":20,"humidity":40}')
  assert.deepEqual(
    [await home.next(), await home.next(), await home.next()],
    [
      { topic: 'home/kitchen/watts', payload: '12345' },
      { topic: 'home/outside', payload: '20' },
      { topic: 'home/copy/a/b', payload: ' {"as": "it is"} ' },
    ],
  )
  assert.deepEqual(await home.nextValue(), { temperature: 20, humidity: 40 })
})

test('wrong lines are logged and listed by number, and the others work', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: '# lamps\nnonsense\na -> home/a\nb -> b' })
  context.after(() => plugin.close())
  assert.deepEqual(await plugin.logs('error'), [
    'line 2: expected: from/topic -> to/topic [options]',
    "line 4: 'b' lies within 'b': the bridge would feed itself",
  ])
  const { active, refused } = (await plugin.objects()).rules as {
    active: number
    refused: { line: number }[]
  }
  assert.equal(active, 1)
  assert.deepEqual(
    refused.map(({ line }) => line),
    [2, 4],
  )
  const home = await plugin.listen('home/a')
  await plugin.publish('a', 'works')
  assert.deepEqual(await home.next(), { topic: 'home/a', payload: 'works' })
})

test(
  'two rules in opposite directions keep two topics alike without a loop',
  {
    timeout,
  },
  async (context) => {
    const plugin = await startStarterPlugin('mqtt-bridge', {
      rules: 'left -> right; right -> left; end -> ended',
    })
    context.after(() => plugin.close())
    const all = await plugin.listen('+')
    const seen: string[] = []
    const collect = async (): Promise<string> => {
      const { topic, payload } = await all.next()
      seen.push(`${topic} ${payload}`)
      return topic
    }
    await plugin.publish('left', '1')
    await plugin.publish('right', '2')
    for (let count = 0; count < 4; count++) await collect()
    // The copies have come back to the bridge before this does: what it made of them would come before `ended`.
    await plugin.publish('end', 'now')
    while ((await collect()) !== 'ended');
    assert.deepEqual(seen.sort(), ['end now', 'ended now', 'left 1', 'left 2', 'right 1', 'right 2'])
  },
)

test('a message that a rule cannot use is reported once', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: 'a -> home/a scale=2' })
  context.after(() => plugin.close())
  const home = await plugin.listen('home/a')
  for (const payload of ['off', 'off', '21']) await plugin.publish('a', payload)
  assert.equal((await home.next()).payload, '42')
  assert.deepEqual(await plugin.logs('warn'), ['line 1: a: scale, offset and round need a number'])
})

test('a deleted retained message is deleted at the target, too', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: 'a -> home/a scale=2 retain' })
  context.after(() => plugin.close())
  // First: whoever subscribes while a message is being retained may be told of it twice.
  const home = await plugin.listen('home/a')
  await plugin.publish('a', '1', { retain: true })
  assert.equal((await home.next()).payload, '2')
  await plugin.publish('a', '', { retain: true })
  assert.equal((await home.next()).payload, '')
})
