import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

test('messages go on under their new name, changed as the rule says', { timeout }, async (context) => {
  const rules = [
    { from: 'meters/+/power', to: 'home/+/watts', scale: 1000, round: 0 },
    { from: 'weather', to: 'home/outside', path: 'main.temp', scale: 0.5556, offset: -17.7778, round: 1 },
    { from: 'raw/#', to: 'home/copy/#' },
    { from: 'sensor', to: 'home/sensor', rename: [{ old: 'temp', new: 'temperature' }] },
  ]
  const plugin = await startStarterPlugin('mqtt-bridge', { rules })
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

test('wrong rows are logged and listed by number, and the others work', { timeout }, async (context) => {
  const rules = [
    { from: 'a', to: 'home/a' },
    { from: 'b', to: 'b' },
  ]
  const plugin = await startStarterPlugin('mqtt-bridge', { rules })
  context.after(() => plugin.close())
  const message = "'b' lies within 'b': the bridge would feed itself"
  assert.deepEqual(await plugin.logs('error'), [`row 2: ${message}`])
  assert.deepEqual((await plugin.objects()).rules, { active: 1, refused: [{ row: 2, message }] })
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
      rules: [
        { from: 'left', to: 'right' },
        { from: 'right', to: 'left' },
        { from: 'end', to: 'ended' },
      ],
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
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: [{ from: 'a', to: 'home/a', scale: 2 }] })
  context.after(() => plugin.close())
  const home = await plugin.listen('home/a')
  for (const payload of ['off', 'off', '21']) await plugin.publish('a', payload)
  assert.equal((await home.next()).payload, '42')
  assert.deepEqual(await plugin.logs('warn'), ['row 1: a: scale, offset and round need a number'])
})

test(
  'a rule with a wildcard tells once of the devices that it does not fit, however often the others send',
  { timeout },
  async (context) => {
    const rules = [{ from: 'zigbee2mqtt/+', to: 'home/+', path: 'temperature' }]
    const plugin = await startStarterPlugin('mqtt-bridge', { rules })
    context.after(() => plugin.close())
    const home = await plugin.listen('home/+')
    for (const temperature of [20, 21]) {
      await plugin.publish('zigbee2mqtt/lamp', '{"state":"ON"}')
      await plugin.publish('zigbee2mqtt/attic', JSON.stringify({ temperature }))
      assert.equal(await home.nextValue(), temperature)
    }
    assert.deepEqual(await plugin.logs('warn'), [
      'row 1: zigbee2mqtt/lamp: the payload has nothing at this path',
    ])
  },
)

test('a deleted retained message is deleted at the target, too', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('mqtt-bridge', {
    rules: [{ from: 'a', to: 'home/a', scale: 2, retain: true }],
  })
  context.after(() => plugin.close())
  // First: whoever subscribes while a message is being retained may be told of it twice.
  const home = await plugin.listen('home/a')
  await plugin.publish('a', '1', { retain: true })
  assert.equal((await home.next()).payload, '2')
  await plugin.publish('a', '', { retain: true })
  assert.equal((await home.next()).payload, '')
})

test(
  'the lines of earlier versions are rows, and what is none is named in the log',
  { timeout },
  async (context) => {
    const rules =
      '# lamps\nnonsense\na/+ -> home/+ scale=2 rename=x:y\n"the cellar" -> home/cellar qos=1 retain'
    const plugin = await startStarterPlugin('mqtt-bridge', { rules })
    context.after(() => plugin.close())
    const [warning = ''] = await plugin.logs('warn')
    assert.match(warning, /^The setting .* \(\/config\/rules\) line 2 \("nonsense"\) is left out/)
    assert.deepEqual((await plugin.objects()).rules, { active: 2 })
    const path = '/api/plugins/mqtt-bridge'
    assert.deepEqual((await plugin.host.request('GET', path)).body.config, { rules }, 'nothing is lost')
    await plugin.host.request('POST', `${path}/config`, {
      body: { config: { rules: rules.replace('nonsense', '') } },
    })
    assert.deepEqual((await plugin.host.request('GET', path)).body.config.rules, [
      { from: 'a/+', to: 'home/+', scale: 2, rename: [{ old: 'x', new: 'y' }] },
      { from: 'the cellar', to: 'home/cellar', qos: 1, retain: true },
    ])
  },
)

test('the bridge may do what its rows say, and no more', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('mqtt-bridge', { rules: [{ from: 'in/+', to: 'out/+' }] })
  context.after(() => plugin.close())
  const { permissions } = (await plugin.host.request('GET', '/api/plugins/mqtt-bridge')).body
  assert.deepEqual(permissions, {
    mqtt: { publish: ['${config.rules[].to}'], subscribe: ['${config.rules[].from}'] },
  })
})
