import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { resolvePermissions } from '../../src/lifecycle/permissions/resolve-permissions.ts'
import { parseManifestShape } from '../../src/schema/manifest/manifest.ts'
import { startStarterPlugin, type StarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { until } from '../../test/helpers/until.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 60_000

/** Does what it is told through its control, and takes messages as the notify plugin does. */
const house = `
local plugin = Plugin:new("house")
local temperature, lamp, level, mode = 20, false, 10, "auto"
plugin:sensor("temperature", function() return temperature end)
plugin:control("lamp", function() return lamp end, function(value)
  assert(type(value) == "boolean")
  lamp = value
end)
plugin:control("level", function() return level end, function(value)
  assert(type(value) == "number", "level takes numbers")
  level = value
end)
plugin:control("mode", function() return mode end, function(value) mode = value end)
plugin:control("temperature-is", function() return temperature end, function(value)
  temperature = value
  plugin:get("temperature"):notify()
end)
plugin:control("humidity-is", function() return nil end, function(value)
  plugin:upsertObject("cellar.climate", { air = { humidity = value }, name = "cellar" })
end)
plugin:control("emit", function() return nil end, function(value)
  plugin:emit(value.name, value.data)
end)
function plugin:send(text)
  if text == "" then return nil, "there is no text" end
  plugin:mqttPublish("sent", text)
  return true
end
plugin:upsertObject("cellar.climate", { air = { humidity = 50 }, name = "cellar" })
`

interface Stage {
  plugin: StarterPlugin
  set(control: string, value: Json): Promise<void>
}

/** The house first: what a rule sees at the start is there then. */
async function startRules(
  rules: Record<string, Json>[],
  close: (end: () => Promise<void>) => void,
): Promise<Stage> {
  const plugin = await startStarterPlugin('rules', { rules: [] })
  close(() => plugin.close())
  await plugin.runBeside('house', house)
  const stage: Stage = {
    plugin,
    async set(control, value) {
      const { status, body } = await plugin.host.request(
        'PUT',
        `/api/plugins/@fixtures/house/controls/${control}`,
        { body: { value } },
      )
      assert.equal(status, 200, JSON.stringify(body))
    },
  }
  await configure(plugin, rules)
  return stage
}

async function configure(plugin: StarterPlugin, rules: Record<string, Json>[]): Promise<void> {
  const answer = await plugin.host.request('POST', '/api/plugins/rules/config', {
    body: { config: { rules } },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

const publish = (payload: string): Record<string, Json>[] => [{ do: 'publish', topic: 'told', payload }]
const emitted = (name: string, data: Json = {}): Json => ({ name, data })

test('sensors, objects and events set rules off, and messages tell of them', { timeout }, async (context) => {
  const { plugin, set } = await startRules(
    [
      {
        name: 'warm',
        when: 'sensor',
        sensor: '@fixtures/house/temperature',
        is: 'above',
        value: '24.5',
        actions: publish('{{ rule }}: {{ value | round(1) }} after {{ previous }} of {{ name }}'),
      },
      {
        name: 'damp',
        when: 'object',
        object: 'plugins.fixtures.house.cellar.*',
        path: 'air.humidity',
        is: 'above',
        value: '65',
        actions: publish('{{ data.name }}: {{ value }} of {{ name }}'),
      },
      {
        name: 'door',
        when: 'event',
        event: 'door:*',
        path: 'door',
        is: 'not equal',
        value: 'back',
        actions: publish('{{ name }} {{ value }} by {{ plugin }}'),
      },
      { name: 'all', when: 'event', event: 'end', actions: [{ do: 'event', event: 'told:all' }] },
    ],
    (end) => context.after(end),
  )
  const told = await plugin.listen('told')
  const events = await plugin.listen(`${plugin.topic}/events/told:all`)
  const next = async (): Promise<string> => (await told.next()).payload
  await set('temperature-is', 24)
  await set('temperature-is', 25.26)
  assert.equal(await next(), 'warm: 25.3 after 24 of @fixtures/house/temperature')
  await set('temperature-is', 26)
  await set('humidity-is', 70)
  assert.equal(await next(), 'cellar: 70 of plugins.fixtures.house.cellar.climate')
  await set('emit', emitted('door:opened', { door: 'back' }))
  await set('emit', emitted('door:opened', { door: 'front' }))
  assert.equal(await next(), 'door:opened front by @fixtures/house')
  await set('emit', emitted('end', { a: 1 }))
  const { time, ...carried } = (await events.nextValue()) as Record<string, unknown>
  assert.equal(typeof time, 'number')
  assert.deepEqual(carried, { rule: 'all', name: 'end', plugin: '@fixtures/house', value: { a: 1 } })
  await until('the sensors', async () => {
    const { runs, last } = await plugin.sensors()
    return runs === 4 && last === 'all'
  })
})

test(
  'actions set controls by their type, hand messages on, and go on after one that fails',
  { timeout },
  async (context) => {
    const control = (id: string, to: string): Record<string, Json> => ({
      do: 'control',
      control: `@fixtures/house/${id}`,
      to,
    })
    const { plugin, set } = await startRules(
      [
        {
          name: 'go',
          when: 'event',
          event: 'go',
          actions: [
            control('lamp', 'on'),
            control('level', '{{ value.level }}'),
            control('level', 'bright'),
            control('mode', '5'),
            control('temperature', '5'),
            control('nothing', '5'),
            { do: 'control', control: '@fixtures/absent/lamp', to: 'on' },
            { do: 'notify', plugin: '@fixtures/house', message: '{{ data.text }}' },
            { do: 'notify', plugin: '@fixtures/house', message: 'level {{ data.level }}' },
          ],
        },
      ],
      (end) => context.after(end),
    )
    const sent = await plugin.listen('sent')
    await set('emit', emitted('go', { level: 42 }))
    assert.equal((await sent.next()).payload, 'level 42')
    const { body } = await plugin.host.request('GET', '/api/plugins/@fixtures/house/controls')
    const values = Object.fromEntries(
      (body as { controls: { id: string; value: Json }[] }).controls.map(({ id, value }) => [id, value]),
    )
    assert.deepEqual([values.lamp, values.level, values.mode], [true, 42, '5'])
    assert.deepEqual(await plugin.logs('error'), [
      "go: action 3: 'bright' is nothing that @fixtures/house/level can be set to",
      "go: action 5: @fixtures/house has no control 'temperature'",
      "go: action 6: @fixtures/house has no control 'nothing'",
      'go: action 7: @fixtures/absent is not running',
      'go: action 8: there is no text',
    ])
  },
)

test('messages on a topic set rules off, each or when it begins', { timeout }, async (context) => {
  const publish = (topic: string, payload = '{{ value }}'): Json[] => [{ do: 'publish', topic, payload }]
  const plugin = await startStarterPlugin('rules', {
    rules: [
      {
        name: 'button',
        when: 'topic',
        topic: 'button/+',
        is: 'equal',
        value: 'single',
        actions: publish('out/button', '{{ name }}'),
      },
      {
        name: 'warm',
        when: 'topic',
        topic: 'climate',
        path: 'temperature',
        is: 'above',
        value: '25',
        begins: true,
        actions: publish('out/warm'),
      },
      {
        name: 'any',
        when: 'topic',
        topic: 'door',
        begins: true,
        actions: publish('out/door', '{{ previous }} {{ value }}'),
      },
    ],
  })
  context.after(() => plugin.close())
  const out = await plugin.listen('out/#')
  for (const payload of ['single', 'double', 'single']) await plugin.publish('button/hall', payload)
  for (const temperature of [20, 26, 27, 20, 28])
    await plugin.publish('climate', `{"temperature":${temperature}}`)
  for (const payload of ['open', 'open', 'closed']) await plugin.publish('door', payload)
  const found: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const { topic, payload } = await out.next()
    found.push(`${topic} ${payload}`)
  }
  assert.deepEqual(found, [
    'out/button button/hall',
    'out/button button/hall',
    'out/warm 26',
    'out/warm 28',
    'out/door open closed',
  ])
  // A rule counts after its actions, and its message may be here before.
  await until('the runs', async () => (await plugin.sensors()).runs === 5)
})

test('conditions, the pause and the switch keep a rule from running', { timeout }, async (context) => {
  const when = { when: 'event', event: 'ring' }
  const { plugin, set } = await startRules(
    [
      {
        name: 'bell',
        ...when,
        conditions: [
          { of: 'sensor', sensor: '@fixtures/house/lamp', is: 'equal', value: 'on' },
          {
            of: 'object',
            object: 'plugins.fixtures.house.cellar.climate',
            path: 'air.humidity',
            is: 'below',
            value: '60',
          },
        ],
        actions: publish('bell {{ value.number }}'),
      },
      { name: 'once', ...when, pause: 3600, actions: publish('once {{ value.number }}') },
      { name: 'last', ...when, perMinute: 600, actions: publish('last {{ value.number }}') },
    ],
    (end) => context.after(end),
  )
  const told = await plugin.listen('told')
  let number = 0
  /** What a ring makes the rules tell. */
  const ring = async (): Promise<string[]> => {
    number += 1
    await set('emit', emitted('ring', { number }))
    const lines: string[] = []
    while (lines.at(-1) !== `last ${number}`) lines.push((await told.next()).payload)
    return lines
  }
  /** Until the value has reached the rules: they are told of it later than it is set. */
  const ringUntil = (length: number): Promise<string[]> =>
    until(`${length} messages`, async () => {
      const lines = await ring()
      return lines.length === length && lines
    })
  assert.deepEqual(await ring(), ['once 1', 'last 1'])
  await set('lamp', true)
  assert.deepEqual(await ringUntil(2), [`bell ${number}`, `last ${number}`])
  await set('humidity-is', 61)
  assert.deepEqual(await ringUntil(1), [`last ${number}`])
  await set('humidity-is', 59)
  await ringUntil(2)

  assert.equal((await plugin.setControl('enabled', false)).status, 200)
  await set('emit', emitted('ring', { number: 0 }))
  // A control may overtake an event that waits, and when it has answered the event has been handled.
  for (const value of [false, true]) assert.equal((await plugin.setControl('enabled', value)).status, 200)
  assert.deepEqual(await ring(), [`bell ${number}`, `last ${number}`])
})

test('rules that set each other off are stopped, and told', { timeout }, async (context) => {
  const ping = (event: string, answer: string): Record<string, Json> => ({
    name: event,
    when: 'event',
    event,
    perMinute: 30,
    actions: [{ do: 'event', event: answer }, ...publish(event)],
  })
  const { plugin, set } = await startRules([ping('one', 'two'), ping('two', 'one')], (end) =>
    context.after(end),
  )
  await set('emit', emitted('one'))
  await until('the warning', async () => (await plugin.logs('warn')).length > 0)
  assert.deepEqual(await plugin.logs('warn'), ['one has run 30 times in a minute; what is more is left out'])
  await until('the runs', async () => (await plugin.sensors()).runs === 60)
})

test('a value that stays is told in time', { timeout }, async (context) => {
  const { plugin, set } = await startRules(
    [
      {
        name: 'stays',
        when: 'sensor',
        sensor: '@fixtures/house/temperature',
        is: 'below',
        value: '5',
        for: 0.05,
        actions: publish('{{ value }}'),
      },
    ],
    (end) => context.after(end),
  )
  const told = await plugin.listen('told')
  await set('temperature-is', 4)
  assert.equal((await told.next()).payload, '4')
})

test('wrong rows are logged and listed by number, and the others work', { timeout }, async (context) => {
  const { plugin, set } = await startRules(
    [
      { name: 'a', when: 'sensor', sensor: '@*/house/temperature', actions: publish('a') },
      {
        name: 'b',
        when: 'sensor',
        sensor: '@fixtures/house/temperature',
        is: 'above',
        value: 'hot',
        actions: publish('b'),
      },
      { name: 'c', when: 'event', event: 'go', actions: publish('c') },
    ],
    (end) => context.after(end),
  )
  const refused = [
    {
      row: 1,
      message:
        "'@*/house/temperature' names no sensor of a plugin: expected one such as @house/climate/temperature",
    },
    { row: 2, message: "above needs a number, not 'hot'" },
  ]
  assert.deepEqual(
    await plugin.logs('error'),
    refused.map(({ row, message }) => `row ${row}: ${message}`),
  )
  assert.deepEqual((await plugin.objects()).rules, { active: 1, refused })
  const told = await plugin.listen('told')
  await set('emit', emitted('go'))
  assert.equal((await told.next()).payload, 'c')
})

test('it may reach what the rows name, and nothing else', () => {
  const manifest = parseManifestShape(
    JSON.parse(readFileSync(join(import.meta.dirname, 'plugin.json'), 'utf8')),
  )
  assert.ok(manifest.ok)
  const rule = {
    object: 'plugins.house.cellar.**',
    conditions: [{ sensor: '@house/doors/front' }, { object: 'plugins.starter.sun.today' }],
    actions: [
      { topic: 'hall/light' },
      { control: '@house/lamp/level' },
      { event: 'a:b' },
      { plugin: '@starter/notify' },
    ],
  }
  const rules = [rule, { sensor: '@house/climate/*', actions: [] }, { event: '*:*' }, { topic: 'button/+' }]
  assert.deepEqual(resolvePermissions(manifest.value.permissions ?? {}, { rules }, 'host'), {
    hosts: [],
    publish: ['hall/light'],
    subscribe: ['button/+'],
    plugins: [
      '@house/climate',
      '@house/cellar',
      '@house/doors',
      '@starter/sun',
      '@house/lamp',
      '@starter/notify',
    ],
    serial: [],
    discovery: [],
  })
})
