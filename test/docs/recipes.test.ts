import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { createNextTime } from '../../src/lifecycle/triggers/next-time.ts'
import type { Schedule } from '../../src/schema/outside/trigger.ts'
import { connect } from '../bus/bus-fixture.ts'
import { createSerialPair } from '../helpers/serial-pair.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { digestUser, startDigestServer } from '../outside/http/digest-server.ts'
import { registersAnswer, startModbusServer } from '../outside/modbus/modbus-server.ts'
import { startWebServer } from '../outside/web-server.ts'

/** Each recipe of `docs/recipes.md` is copied out, installed on a real host, and run against a real other side. */

/** A message that never comes is a failure, not a wait without end. */
const timeout = 60_000

interface Recipe {
  id: string
  manifest: Record<string, unknown>
  lua: string
}

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'recipes.md'), 'utf8')
const recipes = new Map<string, Recipe>()
for (const [, title = '', text = ''] of page.matchAll(/^## (.*)\n((?:(?!^## ).*\n?)*)/gm)) {
  const [, manifest = '{}'] = /^```json\n(.*?)^```$/ms.exec(text) ?? []
  const [, lua = ''] = /^```lua\n(.*?)^```$/ms.exec(text) ?? []
  const parsed = JSON.parse(manifest) as Record<string, unknown> & { id: string }
  recipes.set(title, { id: parsed.id, manifest: parsed, lua })
}
const tried = new Set<string>()

interface Running {
  host: TestHost
  /** Below `/api/plugins/<id>/`. */
  get(what: string): Promise<any>
  sensors(): Promise<Record<string, unknown>>
  publish(topic: string, payload: string): Promise<void>
  /** Payloads on this topic from now on, as they come. */
  listen(topic: string): Promise<{ next(): Promise<string> }>
}

async function run(
  context: TestContext,
  title: string,
  config: object = {},
  { clock, others = [] }: { clock?: Clock; others?: { id: string; lua: string }[] } = {},
): Promise<Running> {
  const recipe = recipes.get(title)
  assert.ok(recipe !== undefined, `there is no recipe "${title}"`)
  tried.add(title)
  const host = await startTestHost({
    plugins: [recipe, ...others],
    settings: { discoveryPrefix: 'homeassistant', hostId: 'house' },
    ...(clock === undefined ? {} : { clock }),
  })
  context.after(() => host.close())
  const ask = async (method: string, path: string, body?: object): Promise<any> => {
    const answer = await host.request(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  for (const { id } of [...others, recipe]) {
    await ask('POST', '/api/plugins/install', { fullId: `@fixtures/${id}` })
    if (id === recipe.id) await ask('POST', `/api/plugins/${id}/config`, { config })
    const { state, error, warnings = [] } = await ask('POST', `/api/plugins/${id}/toggle`, { enabled: true })
    assert.equal(state, 'running', JSON.stringify(error))
    assert.deepEqual(warnings, [])
  }
  const client = await connect(context, host.mqttUrl)
  const get = (what: string): Promise<any> => ask('GET', `/api/plugins/${recipe.id}/${what}`)
  return {
    host,
    get,
    async sensors() {
      const { sensors } = (await get('sensors')) as { sensors: { id: string; value: unknown }[] }
      return Object.fromEntries(sensors.map(({ id, value }) => [id, value]))
    },
    async publish(topic, payload) {
      await client.publishAsync(topic, payload, { qos: 1 })
    },
    async listen(topic) {
      const arrived: string[] = []
      client.on('message', (found, payload) => {
        if (found === topic) arrived.push(payload.toString())
      })
      await client.subscribeAsync(topic)
      return { next: () => until(topic, () => Promise.resolve(arrived.shift())) }
    },
  }
}

const shows = ({ sensors }: Running, wanted: Record<string, unknown>): Promise<unknown> =>
  until(JSON.stringify(wanted), async () => {
    const present = await sensors()
    return Object.entries(wanted).every(([id, value]) => present[id] === value)
  })

test('A webhook becomes an event', { timeout }, async (context) => {
  const running = await run(context, 'A webhook becomes an event')
  const events = await running.listen('host/plugins/@fixtures/parcel-box/events/parcel:arrived')
  const { hooks } = await running.get('hooks')
  const post = (body: string): Promise<Response> =>
    fetch(`${hooks[0].url}?door=back`, { method: 'POST', body })
  assert.equal((await post('nothing')).status, 400)
  assert.equal((await post('{"weight": 2.5}')).status, 204)
  assert.deepEqual(JSON.parse(await events.next()), { weight: 2.5, door: 'back' })
})

test('A meter on a serial port', { timeout }, async (context) => {
  const pair = await createSerialPair(context)
  const running = await run(context, 'A meter on a serial port', { device: pair.path })
  await until('the port', async () => (await running.get('objects')).objects.status?.ok === true)
  pair.port.write('power=230.5\r\nnoise\r\nenergy=12')
  pair.port.write('34.5\nvoltage=231\n')
  await shows(running, { power: 230.5, energy: 1234.5, voltage: 231 })
  await pair.pull()
  await until('the loss', async () => (await running.get('objects')).objects.status?.ok === false)
})

test('A lamp for Home Assistant', { timeout }, async (context) => {
  const lamp = { on: false, level: 40 }
  const server = await startWebServer((seen, response) => {
    if (seen.method === 'PUT') Object.assign(lamp, JSON.parse(seen.body))
    response.end(JSON.stringify(lamp))
  })
  context.after(() => server.close())
  const running = await run(context, 'A lamp for Home Assistant', { url: server.url, interval: 1 })
  const exposed = 'host/plugins/@fixtures/http-lamp/exposed/lamp'
  const discovery = await running.listen('homeassistant/device/house_fixtures_http-lamp_lamp/config')
  const { cmps } = JSON.parse(await discovery.next()) as { cmps: Record<string, Record<string, unknown>> }
  assert.deepEqual(
    [cmps.lamp?.p, cmps.lamp?.brightness_scale, cmps.lamp?.command_topic],
    ['light', 100, `${exposed}/state/set`],
  )
  await running.publish(`${exposed}/state/set`, 'ON')
  await running.publish(`${exposed}/brightness/set`, '75')
  await until('the lamp', () => Promise.resolve(lamp.on && lamp.level === 75))
  // Somebody has used its own switch.
  lamp.on = false
  const state = async (): Promise<unknown> => (await running.get('exposures')).exposures[0].state
  const wanted = JSON.stringify({ state: false, brightness: 75, available: true })
  await until('the change', async () => JSON.stringify(await state()) === wanted)
})

test('A rule between two plugins', { timeout }, async (context) => {
  const others = [
    {
      id: 'bath',
      lua: `local plugin = Plugin:new("bath")
        local humidity = 50
        plugin:sensor("humidity", function() return humidity end)
        plugin:mqttSubscribe("bath/humidity", function(_, text)
          humidity = tonumber(text)
          plugin:get("humidity"):notify()
        end)`,
    },
    {
      id: 'fan',
      lua: `local plugin = Plugin:new("fan")
        local on = false
        plugin:control("running", function() return on end, function(value) on = value end)`,
    },
  ]
  const config = { sensor: '@fixtures/bath/humidity', fan: '@fixtures/fan', minutes: 0.001 }
  const running = await run(context, 'A rule between two plugins', config, { others })
  const fan = await running.listen('host/plugins/@fixtures/fan/controls/running')
  assert.equal(await fan.next(), 'false')
  await running.publish('bath/humidity', '80')
  assert.equal(await fan.next(), 'true')
  await running.publish('bath/humidity', '60')
  assert.equal(await fan.next(), 'false')
})

test('A device with a WebSocket', { timeout }, async (context) => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(sockets, 'listening')
  context.after(() => {
    for (const client of sockets.clients) client.terminate()
    sockets.close()
  })
  let output = false
  sockets.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString())
      if (method === 'Switch.Set') {
        output = params.on
        socket.send(JSON.stringify({ id, result: { was_on: !output } }))
        socket.send(JSON.stringify({ method: 'NotifyStatus', params: { output, power: output ? 12.5 : 0 } }))
      } else socket.send(JSON.stringify({ id, result: { output, power: 0 } }))
    })
  })
  const { port } = sockets.address() as { port: number }
  const running = await run(context, 'A device with a WebSocket', { url: `ws://127.0.0.1:${port}/rpc` })
  await shows(running, { power: 0 })
  const answer = await running.host.request('PUT', '/api/plugins/socket-plug/controls/output', {
    body: { value: 'on' },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await shows(running, { power: 12.5 })
  for (const client of sockets.clients) client.terminate()
  // It comes back by itself, and asks for everything.
  await shows(running, { power: 0 })
})

const place = { latitude: 52.52, longitude: 13.4 }
const sunset: Schedule = { kind: 'at', time: 'sunset-00:30', ...place }
const morning: Schedule = { kind: 'cron', expression: '30 6 * * mon-fri', timezone: 'Europe/Berlin' }
const before = Date.parse('2026-06-01T00:00:00Z')

for (const [what, schedule, word] of [
  ['each morning', morning, 'OPEN'],
  ['at sunset', sunset, 'CLOSE'],
] as const) {
  test(`A job at sunset, and one each morning: ${what}`, { timeout }, async (context) => {
    const due = (await createNextTime(schedule, before))(before)
    assert.ok(due !== undefined)
    // The host believes that it is two seconds before, until somebody listens.
    let listening = Number.POSITIVE_INFINITY
    const passed = (): number => Math.max(0, systemClock.now() - listening)
    const clock: Clock = { ...systemClock, now: () => due - 2_000 + passed() }
    const running = await run(context, 'A job at sunset, and one each morning', place, { clock })
    const shutters = await running.listen('shutters/all/set')
    listening = systemClock.now()
    assert.equal(await shutters.next(), word)
  })
}

test('A value from an HTTP API', { timeout }, async (context) => {
  let asked = 0
  const server = await startWebServer((seen, response) => {
    asked += 1
    assert.equal(seen.headers.authorization, 'Bearer my-token')
    if (asked < 3) response.writeHead(503).end()
    else if (asked === 3) response.end('{"prices": [{"total": 0.31}]}')
    else response.writeHead(429).end()
  })
  context.after(() => server.close())
  const config = { url: `${server.url}/price`, token: 'my-token', interval: 1, backoff: 0.05 }
  const running = await run(context, 'A value from an HTTP API', config)
  await shows(running, { price: 0.31 })
  await until('the refusal', () => Promise.resolve(asked >= 4))
  // It is left alone from then on; what is known stays.
  await running.publish('nothing', '')
  await shows(running, { price: 0.31 })
  assert.equal((await running.get('objects')).objects.status.ok, true)
  assert.equal(asked, 4)
})

test('Registers over Modbus', { timeout }, async (context) => {
  let isBroken = true
  const server = await startModbusServer(() =>
    isBroken ? Buffer.from([0x83, 4]) : registersAnswer(3, [0xff38, 1, 2]),
  )
  context.after(() => server.close())
  const running = await run(context, 'Registers over Modbus', {
    ...{ host: '127.0.0.1', port: server.port, unit: 7, interval: 1 },
  })
  const isOk = async (): Promise<unknown> => (await running.get('objects')).objects.status?.ok
  await until('the problem', async () => (await isOk()) === false)
  isBroken = false
  await until('the end of the problem', async () => (await isOk()) === true)
  await shows(running, { power: -200, energy: 6553.8 })
  assert.deepEqual(server.seen[0], { unit: 7, body: '0300640003', connection: 1 })
})

test('From one topic to another', { timeout }, async (context) => {
  const running = await run(context, 'From one topic to another')
  const display = await running.listen('displays/hall/temperature')
  await running.publish('sensors/hall/climate', 'broken')
  await running.publish('sensors/hall/climate', '{"temperature": "70"}')
  assert.equal(await display.next(), '21.1')
  assert.equal((await running.get('logs?level=warn')).logs.length, 1)
})

test('A doorbell that sends a picture', { timeout }, async (context) => {
  const picture = 'JPEG of somebody'
  const camera = await startDigestServer({}, (_seen, response) => void response.end(picture))
  context.after(() => camera.close())
  const chat = await startWebServer((_seen, response) => void response.end('{}'))
  context.after(() => chat.close())
  const running = await run(context, 'A doorbell that sends a picture', {
    ...{ camera: `${camera.url}/snapshot`, chat: `${chat.url}/send`, ...digestUser },
  })
  const rang = await running.listen('host/plugins/@fixtures/doorbell/exposed/bell')
  await running.publish('doorbell/pressed', '1')
  await running.publish('doorbell/pressed', '1')
  assert.deepEqual(JSON.parse(await rang.next()), { event_type: 'ring' })
  await until('the picture', async () => (await running.get('objects')).objects.status?.ok === true)
  assert.equal(chat.seen.length, 1)
  assert.match(chat.seen[0]?.body ?? '', /name="photo"; filename="door\.jpg"[^]*JPEG of somebody/)
})

test('each recipe of the page has been tried', () => {
  assert.equal(recipes.size, 10)
  assert.deepEqual([...tried].sort(), [...recipes.keys()].sort())
})
