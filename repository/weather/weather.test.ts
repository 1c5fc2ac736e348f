import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { until } from '../../test/helpers/until.ts'
import { startWebServer, type WebServer } from '../../test/outside/web-server.ts'
import { forecastAnswer } from './forecast-answer.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

const london = { lat: 51.5074, lon: -0.1278 }

/** Open-Meteo, as far as the plugin sees it: answers what `next` holds, one after the other, the last for ever. */
interface Station {
  server: WebServer
  next: { status: number; body: Json }[]
}

async function openStation(context: TestContext, ...next: Station['next']): Promise<Station> {
  const station = { next } as Station
  station.server = await startWebServer((_seen, response: ServerResponse) => {
    const answer = station.next.length > 1 ? station.next.shift() : station.next[0]
    response.writeHead(answer?.status ?? 500, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer?.body))
  })
  context.after(() => station.server.close())
  return station
}

async function start(
  context: TestContext,
  station: Station,
  config: Record<string, Json> = {},
): Promise<StarterPlugin> {
  const settings = { httpRewrite: { 'https://api.open-meteo.com': station.server.url } }
  const plugin = await startStarterPlugin('weather', { ...london, ...config }, settings)
  context.after(() => plugin.close())
  return plugin
}

/** Waits until the retained topic has a value that is wanted. */
async function waitFor(plugin: StarterPlugin, topic: string, wanted: (value: any) => boolean): Promise<any> {
  const inbox = await plugin.listen(`${plugin.topic}/${topic}`)
  for (;;) {
    const value = await inbox.nextValue()
    if (wanted(value)) return value
  }
}

const ok = (current: Record<string, number> = {}) => ({ status: 200, body: forecastAnswer(current) as Json })

test('the weather is there as objects and sensors as soon as it is loaded', { timeout }, async (context) => {
  const station = await openStation(context, ok())
  const plugin = await start(context, station)
  const status = await waitFor(plugin, 'objects/status', () => true)
  assert.equal(status.ok, true)
  const { current, forecast, units } = await plugin.objects()
  assert.equal(current?.temperature, 18.4)
  assert.equal((forecast?.days as unknown[]).length, 2)
  assert.equal(units?.temperature, '°C')
  // The host takes values one after the other, and serves others in between.
  await until('the last sensor', async () => (await plugin.sensors()).condition !== null)
  assert.deepEqual(await plugin.sensors(), {
    temperature: 18.4,
    feelsLike: 17.9,
    humidity: 62,
    pressure: 1016.2,
    precipitation: 0,
    cloudCover: 40,
    windSpeed: 11.5,
    windGusts: 24.1,
    windDirection: 250,
    condition: 'partly-cloudy',
  })
  const [seen] = station.server.seen
  const { pathname, searchParams } = new URL(seen?.target ?? '', station.server.url)
  assert.deepEqual(
    [
      pathname,
      searchParams.get('latitude'),
      searchParams.get('longitude'),
      searchParams.get('forecast_days'),
    ],
    ['/v1/forecast', '51.5074', '-0.1278', '3'],
  )
})

test(
  'what has changed is told, and the first answer is no change of the weather',
  { timeout },
  async (context) => {
    const station = await openStation(context, ok())
    const plugin = await start(context, station)
    await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine)
    const events = await plugin.listen(`${plugin.topic}/events/#`)
    station.next = [ok({ weather_code: 63, precipitation: 1.2, time: 1781961300 })]
    assert.equal((await plugin.setControl('refresh', true)).status, 200)
    let changed = await events.next()
    let condition = await events.next()
    // What the first answer has told may still come.
    for (; condition.topic !== `${plugin.topic}/events/weather:condition`; condition = await events.next())
      changed = condition
    assert.equal(changed.topic, `${plugin.topic}/events/weather:changed`)
    assert.deepEqual(JSON.parse(changed.payload).changed, ['code', 'condition', 'precipitation', 'text'])
    assert.deepEqual(JSON.parse(condition.payload), {
      condition: 'rain',
      text: 'Rain',
      previous: 'partly-cloudy',
    })
  },
)

test('a refusal is told once with its reason, and not repeated', { timeout }, async (context) => {
  const refusal = { status: 400, body: { error: true, reason: 'Latitude must be in range' } }
  const station = await openStation(context, refusal)
  const plugin = await start(context, station)
  const status = await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine === false)
  assert.deepEqual(status, { ok: false, error: 'HTTP 400: Latitude must be in range' })
  assert.equal(station.server.seen.length, 1)
  await plugin.setControl('refresh', true)
  station.next = [ok()]
  await plugin.setControl('refresh', true)
  await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine)
  assert.deepEqual(await plugin.logs('warn'), [
    'No weather from Open-Meteo: HTTP 400: Latitude must be in range',
  ])
})

test('when Open-Meteo goes away, the values stay and the status says why', { timeout }, async (context) => {
  const station = await openStation(context, ok())
  const plugin = await start(context, station)
  const { updatedAt } = await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine)
  const events = await plugin.listen(`${plugin.topic}/events/weather:error`)
  station.next = [{ status: 404, body: {} }]
  await plugin.setControl('refresh', true)
  assert.deepEqual(await events.nextValue(), { error: 'HTTP 404' })
  const { status, current } = await plugin.objects()
  assert.deepEqual(status, { ok: false, updatedAt, error: 'HTTP 404' })
  assert.equal(current?.temperature, 18.4)
})

test('an answer that fails once is asked for again', { timeout }, async (context) => {
  const station = await openStation(context, { status: 503, body: {} }, ok())
  const plugin = await start(context, station)
  const status = await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine)
  assert.equal(status.error, undefined)
  assert.equal(station.server.seen.length, 2)
})

test('other plugins ask for the weather', { timeout }, async (context) => {
  const station = await openStation(context, ok())
  const plugin = await start(context, station)
  await waitFor(plugin, 'objects/status', ({ ok: fine }) => fine)
  const results = await plugin.listen('results')
  await plugin.runBeside(
    'caller',
    `local caller = Plugin:new("caller")
    caller:onInit(function()
      local weather = Plugin.get("@starter/weather")
      caller:mqttPublish("results", {
        temperature = weather:getTemperature(),
        condition = weather:getCurrent().condition,
        days = #weather:getForecast(),
        tomorrow = weather:getForecast(1).condition,
        never = weather:getForecast(7),
      })
    end)
    return caller`,
  )
  assert.deepEqual(await results.nextValue(), {
    temperature: 18.4,
    condition: 'partly-cloudy',
    days: 2,
    tomorrow: 'cloudy',
  })
})
