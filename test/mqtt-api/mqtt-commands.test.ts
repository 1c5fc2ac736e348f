import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MqttResponse } from '../../src/mqtt-api/answer-text.ts'
import { createMqttCommands, type MqttCommandsSettings } from '../../src/mqtt-api/mqtt-commands.ts'
import { soleHost } from '../../src/mqtt-api/responsibility.ts'
import { collect, connect, createRecordingLogger, startBus, startExternalBus } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import type { CommandContext } from '../../src/lifecycle/lifecycle.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { createFakeLifecycle, pluginNamed, type FakePlugin } from '../helpers/fake-lifecycle.ts'

const clock = '@starter/clock'

async function start(
  t: TestContext,
  plugin: Partial<FakePlugin> = {},
  options: Partial<MqttCommandsSettings> = {},
) {
  const logger = createRecordingLogger()
  const { bus = await startBus(t) } = options
  const fake = createFakeLifecycle(new Map([[clock, { plugin: pluginNamed(clock), ...plugin }]]))
  const parts = { lifecycle: fake.lifecycle, bus, root: 'host', logger, clock: createManualClock() }
  const commands = createMqttCommands({ ...parts, ...options })
  t.after(() => commands.close())
  const client = await connect(t, bus.url)
  const received = collect(client)
  await client.subscribeAsync('host/response/+', { qos: 1 })
  return { bus, client, received, commands, logger, ...fake }
}

const by = { by: 'mqtt' }

test('Every verb reaches the lifecycle and is answered with what HTTP would answer', async (t) => {
  const { client, received, calls, commands } = await start(t)
  await commands.start()
  const requests: [verb: string, body: object][] = [
    ['list', {}],
    ['install', { plugin: '@a/new', repository: 'r', version: '1.2.3' }],
    ['install', { fullId: '@a/other', id: 'other' }],
    // Null says the same as leaving a member out, as over HTTP.
    ['install', { plugin: '@a/third', fullId: null, id: null, repository: null, version: null }],
    ['toggle', { plugin: 'clock' }],
    ['toggle', { plugin: clock, enabled: false }],
    ['config', { plugin: clock, config: { interval: 5 } }],
    ['reload', { plugin: clock }],
    ['update', { plugin: clock, version: '2.0.0' }],
    ['update', { plugin: clock, version: null }],
    ['uninstall', { plugin: clock, purge: ['kv', 'kv'] }],
    ['uninstall', { plugin: clock }],
  ]
  for (const [index, [verb, body]] of requests.entries()) {
    client.publish(`host/request/${verb}`, JSON.stringify({ ...body, transaction: index }), { qos: 1 })
  }
  const answers = (await received.take(requests.length)).map(({ topic, text }) => ({
    topic,
    ...JSON.parse(text),
  }))
  answers.sort((one, other) => one.transaction - other.transaction)
  const shown = pluginNamed(clock)
  const installed = { state: 'installed', enabled: false } as const
  const data = [
    { plugins: [shown] },
    pluginNamed('@a/new', installed),
    pluginNamed('@a/other', installed),
    pluginNamed('@a/third', installed),
    ...Array(6).fill(shown),
    ...Array(2).fill({ id: clock, state: 'uninstalled' }),
  ]
  assert.deepEqual(
    answers,
    requests.map(([verb], index) => ({
      topic: `host/response/${verb}`,
      status: 'ok',
      data: data[index],
      transaction: index,
    })),
  )
  assert.deepEqual(calls, [
    ['install', { fullId: '@a/new', repository: 'r', version: '1.2.3' }, by],
    ['install', { fullId: '@a/other', id: 'other' }, by],
    ['install', { fullId: '@a/third' }, by],
    ['toggle', clock, undefined, by],
    ['toggle', clock, false, by],
    ['configure', clock, { interval: 5 }, by],
    ['reload', clock, by],
    ['update', clock, '2.0.0', by],
    ['update', clock, undefined, by],
    ['uninstall', clock, ['kv'], by],
    ['uninstall', clock, [], by],
  ])
})

const wrong: [verb: string, payload: string, code: string, detail: RegExp, paths?: string[]][] = [
  ['toggle', '{"plugin": ', 'body_invalid', /is not valid JSON \(line 1, column 12\)/],
  ['toggle', '[1]', 'body_invalid', /must be a JSON object/],
  ['toggle', '"clock"', 'body_invalid', /must be a JSON object/],
  ['toggle', '', 'body_invalid', /errors/, ['/plugin']],
  ['toggle', '{"plugin": "clock", "enabled": "yes"}', 'body_invalid', /errors/, ['/enabled']],
  // What is misspelt must not be taken for what is not said: the plugin would be switched over.
  ['toggle', '{"plugin": "clock", "enable": false}', 'body_invalid', /errors/, ['/enable']],
  ['update', '{"plugin": "clock", "versoin": "1.0.0"}', 'body_invalid', /errors/, ['/versoin']],
  ['config', '{"plugin": 1}', 'body_invalid', /errors/, ['/config', '/plugin']],
  ['install', '{}', 'body_invalid', /Name the plugin/, ['/plugin']],
  ['install', '{"plugin": "clock"}', 'body_invalid', /errors/, ['/plugin']],
  ['install', '{"plugin": "@a/b", "fullId": "@a/c"}', 'body_invalid', /different plugins/, ['/plugin']],
  // One of the two would be done, or stored, without a word of the other.
  ['toggle', '{"plugin": "@a/b", "plugin": "clock"}', 'body_invalid', /same name/, ['/plugin']],
  ['config', '{"plugin": "clock", "config": {"a": 1, "a": 2}}', 'body_invalid', /same name/, ['/config/a']],
  ['config', '{"plugin": "clock", "config": {"a": [-1e400]}}', 'body_invalid', /number beyond/],
  ['uninstall', '{"plugin": "clock", "purge": ["everything"]}', 'body_invalid', /errors/],
  ['explode', '{}', 'not_found', /there are list, install, toggle/],
  ['constructor', '{}', 'not_found', /there are list/],
  ['reload', '{"plugin": "nobody"}', 'plugin_not_installed', /nobody/],
  ['toggle', `{"plugin": ${'['.repeat(100)}${']'.repeat(100)}}`, 'body_invalid', /nests deeper/],
]

test('What cannot be done is answered with a problem document, each', async (t) => {
  const { client, received, calls, commands } = await start(t)
  await commands.start()
  for (const [index, [verb, payload, code, detail, paths]] of wrong.entries()) {
    await client.publishAsync(`host/request/${verb}`, payload, { qos: 1 })
    const answer = (await received.take(index + 1))[index]
    const { status, error } = JSON.parse(answer?.text ?? '')
    assert.deepEqual([answer?.topic, status, error.code], [`host/response/${verb}`, 'error', code])
    assert.equal(error.instance, `host/request/${verb}`)
    assert.match(error.detail, detail)
    if (paths !== undefined) {
      assert.deepEqual(error.errors.map(({ path }: { path: string }) => path).sort(), paths)
    }
  }
  assert.deepEqual(calls, [])
})

test('In a fleet a transaction is written down shortly, however long it is, and none where it is null', async (t) => {
  const { client, received, calls, commands } = await start(t, {}, { responsibility: soleHost })
  await commands.start()
  const long = 'x'.repeat(100_000)
  const transactions = [1, 'a', { a: 1 }, null, undefined, long, `${long}y`]
  for (const transaction of transactions)
    client.publish('host/request/reload', JSON.stringify({ plugin: clock, transaction }), { qos: 1 })
  const answers = await received.take(transactions.length)
  assert.deepEqual(
    answers.map(({ text }) => JSON.parse(text)),
    transactions.map((transaction) => ({
      status: 'ok',
      data: pluginNamed(clock),
      ...(transaction === undefined ? {} : { transaction }),
    })),
  )
  const keys = calls.map(([, , context]) => (context as CommandContext).requestKey)
  assert.deepEqual(keys.slice(0, 5), [
    'mqtt reload 1',
    'mqtt reload "a"',
    'mqtt reload {"a":1}',
    undefined,
    undefined,
  ])
  const [one = '', other = ''] = keys.slice(5)
  assert.notEqual(one, other)
  assert.ok(one.length < 256 && other.length < 256, `${one.length} ${other.length}`)
})

test('The transaction comes back with an error too, whatever it is', async (t) => {
  const { client, received, commands } = await start(t)
  await commands.start()
  client.publish('host/request/reload', '{"plugin": "nobody", "transaction": {"a": [1, null]}}')
  const [answer] = await received.take(1)
  assert.deepEqual(JSON.parse(answer?.text ?? '').transaction, { a: [1, null] })
  client.publish('host/request/reload', '{"plugin": "clock", "plugin": "clock", "transaction": 7}')
  const [, second] = await received.take(2)
  assert.deepEqual(JSON.parse(second?.text ?? '').transaction, 7)
})

test(
  'An answer that is larger than what an external broker takes is a problem that says so, and what to do',
  { skip: mosquittoMissing },
  async (t) => {
    const limit = 4_000
    const { url } = await startMosquitto(t, ['allow_anonymous true', `max_packet_size ${limit}`])
    const large = pluginNamed(clock, { description: 'x'.repeat(limit) })
    const busLogger = createRecordingLogger()
    const bus = await startExternalBus(t, url, { logger: busLogger })
    const { client, received, commands, calls } = await start(t, { plugin: large }, { bus })
    await commands.start()
    // Its answer has hundreds of errors, and is an error already.
    const crooked = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`member${index}`, 1]))
    // Comes in, but does not go out again beside a problem.
    const long = 'x'.repeat(limit - 100)
    const requests: [verb: string, body: object][] = [
      ['list', { transaction: 1 }],
      ['reload', { plugin: clock, transaction: 2 }],
      ['toggle', { plugin: clock, transaction: 3, ...crooked }],
      ['list', { transaction: long }],
      ['uninstall', { plugin: clock, transaction: 4 }],
    ]
    const answers: MqttResponse[] = []
    for (const [index, [verb, body]] of requests.entries()) {
      await client.publishAsync(`host/request/${verb}`, JSON.stringify(body), { qos: 1 })
      answers.push(JSON.parse((await received.take(index + 1))[index]?.text ?? ''))
    }
    assert.deepEqual(
      answers.map(({ status, error, transaction }) => [
        status,
        error?.code,
        error?.status,
        error?.instance,
        transaction,
      ]),
      [
        ['error', 'answer_too_large', 500, 'host/request/list', 1],
        ['error', 'answer_too_large', 500, 'host/request/reload', 2],
        ['error', 'body_invalid', 400, 'host/request/toggle', 3],
        ['error', 'answer_too_large', 500, 'host/request/list', undefined],
        ['ok', undefined, undefined, undefined, 4],
      ],
    )
    const [list, reload, toggle] = answers.map(({ error }) => error)
    assert.match(list?.detail ?? '', /^The answer has \d+ bytes, .* takes 39\d\d .*HTTP/)
    assert.match(reload?.detail ?? '', /^This was done, but the answer has .*HTTP/)
    assert.match(toggle?.detail ?? '', /The request is not as it must be.* The answer has .*HTTP/)
    assert.equal(toggle?.errors, undefined)
    assert.deepEqual(
      calls.map(([name]) => name),
      ['reload', 'uninstall'],
    )
    assert.deepEqual(
      busLogger.lines.filter(({ level }) => level !== 'info'),
      [],
    )
  },
)

test('A failure that is nobody’s business is logged and answered without its text', async (t) => {
  const { client, received, commands, lifecycle, logger } = await start(t)
  lifecycle.list = () => {
    throw new Error('disk on fire')
  }
  await commands.start()
  client.publish('host/request/list', '')
  const [answer] = await received.take(1)
  assert.equal(JSON.parse(answer?.text ?? '').error.code, 'internal')
  assert.equal(answer?.text.includes('fire'), false)
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields]),
    [['error', { verb: 'list', error: 'disk on fire' }]],
  )
})

test('Controls are set by JSON or bare text, typed as the control declares', async (t) => {
  const controls = [
    { id: 'lamp', value: false, type: 'switch' },
    { id: 'a/b', value: 1, type: 'number' },
  ]
  const { client, received, calls, commands, logger } = await start(t, { controls })
  await commands.start()
  const base = `host/plugins/${clock}/controls`
  client.publish(`${base}/lamp/set`, 'ON')
  client.publish(`${base}/a%2Fb/set`, '4')
  client.publish(`${base}/unknown/set`, '{"x":1}')
  client.publish('host/plugins/@no/body/controls/lamp/set', 'ON')
  client.publish('host/request/list', '')
  await received.take(1)
  assert.deepEqual(calls, [
    ['setControl', clock, 'lamp', true],
    ['setControl', clock, 'a/b', 4],
    ['setControl', clock, 'unknown', { x: 1 }],
  ])
  assert.deepEqual(
    logger.lines.map(({ message, fields }) => [message, fields?.topic]),
    [['An MQTT command was refused', 'host/plugins/@no/body/controls/lamp/set']],
  )
})

test('Of commands on one topic that are refused the log tells once in a while, and how many there were', async (t) => {
  const clock = createManualClock()
  const { client, received, commands, logger } = await start(t, {}, { clock })
  await commands.start()
  const refused = async (...topics: string[]): Promise<void> => {
    const before = received.all.length
    for (const topic of topics) client.publish(`host/plugins/@no/${topic}/set`, '1')
    client.publish('host/request/list', '')
    await received.take(before + 1)
  }
  await refused(...Array<string>(50).fill('body/controls/lamp'), 'body/controls/other')
  clock.advance(10_000)
  await refused('body/controls/lamp')
  assert.deepEqual(
    logger.lines.map(({ fields }) => [fields?.topic, fields?.suppressed]),
    [
      ['host/plugins/@no/body/controls/lamp/set', undefined],
      ['host/plugins/@no/body/controls/other/set', 49],
      ['host/plugins/@no/body/controls/lamp/set', undefined],
    ],
  )
})

test('A retained command is not carried out again at the start, the next one is', async (t) => {
  const { client, received, calls, commands } = await start(t)
  const topic = `host/plugins/${clock}/controls/lamp/set`
  await client.publishAsync(topic, 'old', { retain: true, qos: 1 })
  await client.publishAsync('host/request/reload', JSON.stringify({ plugin: clock }), {
    retain: true,
    qos: 1,
  })
  // Both were acknowledged, so the broker had them before the commands begin to listen.
  await commands.start()
  await client.publishAsync(topic, 'new', { qos: 1 })
  await client.publishAsync('host/request/list', '', { qos: 1 })
  const answers = await received.take(1)
  assert.deepEqual(
    answers.map((message) => message.topic),
    ['host/response/list'],
  )
  assert.deepEqual(calls, [['setControl', clock, 'lamp', 'new']])
})

test('A request that a plugin has caused is refused by its name, whichever way it came', async (t) => {
  const { bus, received, calls, commands, logger } = await start(t)
  await commands.start()
  const ignore = (): void => undefined
  const cause = { plugin: '@evil/plugin', reached: ignore, waits: ignore, settled: ignore }
  bus.causedBy(cause, () => {
    bus
      .publish('host/request/reload', JSON.stringify({ plugin: clock }))
      .catch((error: unknown) => assert.ifError(error))
  })
  const [answer] = await received.take(1)
  const { status, error } = JSON.parse(answer?.text ?? '')
  assert.deepEqual([status, error.code], ['error', 'forbidden'])
  assert.match(error.detail, /^@evil\/plugin is a plugin/)
  assert.deepEqual(calls, [])
  assert.deepEqual(
    logger.lines.map(({ message, fields }) => [message, fields]),
    [['A request of a plugin was refused', { verb: 'reload', origin: '@evil/plugin' }]],
  )
})
