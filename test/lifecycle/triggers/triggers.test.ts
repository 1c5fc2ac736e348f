import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { logMessages, startHostFor, type TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'

/** Shows what it is told through its control. */
const meter = `
  local plugin = Plugin:new("meter")
  local power
  local sensor = plugin:sensor("power", function() return power end)
  plugin:control("do", function() return nil end, function(text)
    if text == "gone" then plugin:emit("meter:gone", {}) return end
    power = tonumber(text)
    sensor:notify()
    plugin:upsertObject("room.state", { power = power })
    plugin:emit("meter:power", { power = power })
  end)
  plugin:onInit(function() power = 1 sensor:notify() plugin:upsertObject("room.state", { power = 1 }) end)
`

const watching = (id: string, body: string): string => `
  local plugin = Plugin:new("${id}")
  plugin:onInit(function() ${body} end)
`

const toggle = (host: TestHost, id: string, enabled: boolean): Promise<unknown> =>
  host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, { body: { enabled } })

async function heard(host: TestHost, id: string, last: string): Promise<string[]> {
  const lines = await until(`${id} to hear ${last}`, async () => {
    const found = await logMessages(host, `@fixtures/${id}`)
    return found.some((line) => line.includes(last)) ? found : undefined
  })
  return lines
}

test('values, events and times of the whole host reach whoever waits for them, and end with it', async (t) => {
  let shift = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + shift }
  const host = await startHostFor(t, {
    clock,
    plugins: [
      { id: 'meter', lua: meter },
      {
        id: 'watcher',
        lua: watching(
          'watcher',
          `
          plugin:onSensor("@fixtures/meter/power", function(value, previous, id, from) print("sensor", value, previous, id, from) end)
          plugin:onObject("plugins.fixtures.*.room.**", function(value, previous, path)
            print("object", value and value.power, previous and previous.power, path)
          end, { now = false })
          plugin:on("meter:*", function(data, name, from) print("event", data.power, name, from) end)
          plugin:cron("* * * * *", function() print("minute") end)
          `,
        ),
      },
      {
        id: 'stranger',
        manifest: { permissions: { plugins: ['@fixtures/other'] } },
        lua: watching(
          'stranger',
          `
          print("refused", pcall(function() plugin:onSensor("@fixtures/meter/power", print) end))
          print("refused", pcall(function() plugin:onObject("@fixtures/meter:room.state", print) end))
          plugin:onSensor("**", function(_, _, id, from) print("heard", id, from) end)
          plugin:sensor("own", function() return 1 end):notify()
          `,
        ),
      },
    ],
  })
  for (const id of ['meter', 'watcher', 'stranger']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    // The next full minute is not far away.
    shift = 60_000 - (Date.now() % 60_000) - 1_500
    await toggle(host, id, true)
  }
  await heard(host, 'watcher', 'minute')
  await heard(host, 'watcher', 'sensor\t1')
  await host.request('PUT', '/api/plugins/@fixtures/meter/controls/do', { body: { value: '5' } })
  await heard(host, 'watcher', 'event\t5')
  await toggle(host, 'meter', false)
  await heard(host, 'watcher', 'object\tnil')
  await toggle(host, 'meter', true)
  const lines = await heard(host, 'watcher', 'object\t1')
  const of = (what: string): string[] => lines.filter((line) => line.startsWith(what))
  assert.deepEqual(of('sensor'), [
    'sensor\t1\tnil\tpower\t@fixtures/meter',
    'sensor\t5\t1\tpower\t@fixtures/meter',
    'sensor\tnil\t5\tpower\t@fixtures/meter',
    'sensor\t1\tnil\tpower\t@fixtures/meter',
  ])
  assert.deepEqual(of('object'), [
    'object\t5\t1\tplugins.fixtures.meter.room.state',
    'object\tnil\t5\tplugins.fixtures.meter.room.state',
    'object\t1\tnil\tplugins.fixtures.meter.room.state',
  ])
  assert.deepEqual(of('event'), ['event\t5\tmeter:power\t@fixtures/meter'])

  const strange = await heard(host, 'stranger', 'heard\town')
  assert.equal(strange.filter((line) => /^refused\tfalse\t.*permissions/.test(line)).length, 2)
  assert.deepEqual(
    strange.filter((line) => line.startsWith('heard')),
    ['heard\town\t@fixtures/stranger'],
  )

  const { body } = await host.request('GET', '/api/plugins/@fixtures/watcher')
  assert.deepEqual([body.resources.watches, body.resources.schedules], [2, 1])
  await toggle(host, 'watcher', false)
  const after = await host.request('GET', '/api/plugins/@fixtures/watcher')
  assert.deepEqual([after.body.resources.watches, after.body.resources.schedules], [0, 0])
})
