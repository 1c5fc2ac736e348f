import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { type Seen, startWebServer } from '../../test/outside/web-server.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

/** A database: takes lines, or answers with these statuses first. */
async function openDatabase(context: TestContext, ...statuses: number[]) {
  const written: Seen[] = []
  const waiting: (() => void)[] = []
  const server = await startWebServer((seen, response) => {
    written.push(seen)
    const status = statuses.shift() ?? 204
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status >= 400 ? JSON.stringify({ code: 'x', message: 'not now' }) : undefined)
    for (const wake of waiting.splice(0)) wake()
  })
  context.after(() => server.close())
  return {
    url: server.url,
    written,
    /** The request of this number, counted from 0. */
    async request(index: number): Promise<Seen> {
      for (;;) {
        const seen = written[index]
        if (seen !== undefined) return seen
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
  }
}

async function start(context: TestContext, config: Record<string, Json>): Promise<StarterPlugin> {
  const plugin = await startStarterPlugin('influx', config)
  context.after(() => plugin.close())
  return plugin
}

/** Lines without their times, which must be close to now. */
function linesOf({ body }: Seen): string[] {
  return body.split('\n').map((line) => {
    const [, point = '', at] = /^(.*) (\d{13})$/.exec(line) ?? []
    assert.ok(Math.abs(Number(at) - Date.now()) < 60_000, line)
    return point
  })
}

const influx2 = { org: 'my home', bucket: 'house', token: 'a-very-secret-token' }

test('messages become lines in one batch, with what the rule says', { timeout }, async (context) => {
  const database = await openDatabase(context)
  const mapping = [
    {
      filter: 'meters/+/power',
      measurement: 'power',
      tags: [{ name: 'room', value: '$1' }],
      field: 'watts',
    },
    {
      filter: 'zigbee/+',
      measurement: 'climate',
      tags: [{ name: 'device', value: '$1' }],
      fields: [{ path: 'temperature' }, { path: 'humidity' }],
    },
    { filter: 'door/#', measurement: 'door', tags: [{ name: 'door', value: '$1' }], type: 'boolean' },
  ]
  const plugin = await start(context, {
    ...influx2,
    url: database.url,
    batch: 4,
    mapping,
  })
  await plugin.publish('meters/living room/power', '12.5')
  await plugin.publish('zigbee/hall', '{"temperature":20.5,"humidity":40,"battery":"low"}')
  await plugin.publish('door/front', 'ON')
  await plugin.publish('meters/kitchen/power', 'no number')
  await plugin.publish('meters/kitchen/power', '')
  await plugin.publish('meters/kitchen/power', '3')
  const request = await database.request(0)
  assert.deepEqual(
    [request.method, request.target, request.headers['authorization'], request.headers['content-type']],
    [
      'POST',
      '/api/v2/write?bucket=house&org=my%20home&precision=ms',
      'Token a-very-secret-token',
      'text/plain; charset=utf-8',
    ],
  )
  assert.deepEqual(linesOf(request).sort(), [
    'climate,device=hall humidity=40,temperature=20.5',
    'door,door=front value=true',
    'power,room=kitchen watts=3',
    String.raw`power,room=living\ room watts=12.5`,
  ])
  assert.deepEqual(await plugin.logs('warn'), [
    'row 1: meters/kitchen/power: the payload has no number where the rule looks for one',
  ])
})

test(
  'a rule tells of each thing that it cannot use once, though they take turns',
  { timeout },
  async (context) => {
    const database = await openDatabase(context)
    const mapping = [{ filter: 'tele/#', measurement: 'power', path: 'watts' }]
    const plugin = await start(context, { ...influx2, url: database.url, batch: 1, mapping })
    for (let time = 0; time < 2; time += 1) {
      await plugin.publish('tele/plug/LWT', 'Online')
      await plugin.publish('tele/plug/STATE', '{"uptime":1}')
    }
    await plugin.publish('tele/plug/SENSOR', '{"watts":3}')
    assert.equal(linesOf(await database.request(0)).length, 1)
    assert.deepEqual(await plugin.logs('warn'), [
      'row 1: tele/plug/LWT: the payload is not JSON',
      'row 1: tele/plug/STATE: the payload has no number where the rule looks for one',
    ])
  },
)

test('the other databases have their address and their login', { timeout }, async (context) => {
  const database = await openDatabase(context)
  const login = { user: 'lupine', password: 'secret' }
  const common = { url: database.url, mapping: 'a -> b', batch: 1 }
  const first = await start(context, { ...common, ...login, kind: 'influx1', database: 'house' })
  await first.publish('a', '1')
  const one = await database.request(0)
  assert.deepEqual(
    [one.target, one.headers['authorization']],
    ['/write?db=house&precision=ms', `Basic ${Buffer.from('lupine:secret').toString('base64')}`],
  )
  const second = await start(context, { ...common, kind: 'victoriametrics' })
  await second.publish('a', '1')
  const two = await database.request(1)
  assert.deepEqual([two.target, two.headers['authorization']], ['/write?precision=ms', undefined])
})

test(
  'points wait while the database is away, and are written when it is back',
  { timeout },
  async (context) => {
    const database = await openDatabase(context, 503)
    const plugin = await start(context, { ...influx2, url: database.url, batch: 2, mapping: 'a -> b' })
    const events = await plugin.listen(`${plugin.topic}/events/#`)
    await plugin.publish('a', '1')
    await plugin.publish('a', '2')
    assert.deepEqual(await events.nextValue(), { error: 'HTTP 503: not now', lost: 0, waiting: 2 })
    assert.deepEqual(linesOf(await database.request(1)), ['b value=1', 'b value=2'])
    assert.deepEqual(await events.nextValue(), { waiting: 0 })
  },
)

test('what the database refuses is given up and counted', { timeout }, async (context) => {
  const database = await openDatabase(context, 400)
  const plugin = await start(context, { ...influx2, url: database.url, batch: 1, mapping: 'a -> b' })
  const events = await plugin.listen(`${plugin.topic}/events/influx:error`)
  await plugin.publish('a', '1')
  assert.deepEqual(await events.nextValue(), { error: 'HTTP 400: not now', lost: 1, waiting: 0 })
  assert.deepEqual(await plugin.logs('error'), ['1 points were given up: HTTP 400: not now'])
  assert.equal(database.written.length, 1)
})

test('what waits is written when the plugin is unloaded', { timeout }, async (context) => {
  const database = await openDatabase(context)
  const plugin = await start(context, { ...influx2, url: database.url, mapping: 'a -> b' })
  const waiting = await plugin.listen(`${plugin.topic}/sensors/waiting`)
  await plugin.publish('a', '1')
  await plugin.publish('a', '2')
  while ((await waiting.nextValue()) !== 2);
  await plugin.host.request('POST', '/api/plugins/influx/toggle')
  assert.deepEqual(linesOf(await database.request(0)), ['b value=1', 'b value=2'])
})

test('another plugin writes points of its own', { timeout }, async (context) => {
  const database = await openDatabase(context)
  const plugin = await start(context, { ...influx2, url: database.url, batch: 2 })
  const results = await plugin.listen('results')
  await plugin.runBeside(
    'caller',
    `local caller = Plugin:new("caller")
    caller:onInit(function()
      local influx = Plugin.get("influx")
      local _, problem = influx:write("power", {}, {})
      caller:mqttPublish("results", problem)
      influx:write("power", { room = "kitchen" }, { watts = 12.5, on = true, count = { integer = 3 } })
      influx:write("note", {}, { text = 'a "b"' }, os.time() * 1000)
    end)
    return caller`,
  )
  assert.equal((await results.next()).payload, 'the point has no field with a value')
  assert.deepEqual(linesOf(await database.request(0)), [
    'power,room=kitchen count=3i,on=true,watts=12.5',
    String.raw`note text="a \"b\""`,
  ])
})

test('what is missing is said, and wrong rows are listed', { timeout }, async (context) => {
  const missing = await start(context, { url: 'http://127.0.0.1:1', org: 'home' })
  assert.deepEqual(await missing.logs('error'), ['Not set, but needed for influx2: bucket, token'])
  const mapping = [
    { filter: 'a', measurement: 'b' },
    { filter: 'a+', measurement: 'c' },
  ]
  const wrong = await start(context, { ...influx2, url: 'http://127.0.0.1:1', mapping })
  const message = "'a+' is not a topic filter: + and # stand for whole levels, # for the last ones"
  assert.deepEqual((await wrong.objects()).mapping, { active: 1, refused: [{ row: 2, message }] })
})
