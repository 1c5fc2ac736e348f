import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { logMessages, startTestHost, type TestHost } from '../helpers/test-host.ts'

const token = 'a-token-of-some-length'
const year = 365 * 24 * 3_600_000

/** The time of day of somebody who sets the clock: a box without a battery, a wrong time server. */
function createAdjustableClock(): Clock & { set(offset: number): void } {
  let offset = 0
  return { ...systemClock, now: () => systemClock.now() + offset, set: (value) => void (offset = value) }
}

const ticker: FixturePlugin = {
  id: 'ticker',
  lua: `
    local plugin = Plugin:new("ticker")
    plugin:onInit(function()
      plugin:log("info", "for an hour: " .. tostring(plugin:kvGet("hour")) .. ", for ever: " .. tostring(plugin:kvGet("ever")))
      if plugin:kvGet("ever") == nil then
        plugin:kvSet("hour", "kept", { ttl = 3600 })
        plugin:kvSet("ever", "kept")
      end
      local ticks = 0
      plugin:setInterval(20, function() ticks = ticks + 1 plugin:emit("ticker:tick", ticks) end)
    end)`,
}

async function nextMessages(client: MqttClient, count: number): Promise<number[]> {
  const values: number[] = []
  return new Promise((resolve) => {
    const take = (_topic: string, payload: Buffer): void => {
      values.push(JSON.parse(payload.toString()) as number)
      if (values.length < count) return
      client.off('message', take)
      resolve(values)
    }
    client.on('message', take)
  })
}

async function lastLogLine(host: TestHost): Promise<string> {
  return (await logMessages(host, '@fixtures/ticker')).at(-1) ?? ''
}

test('the time of day may jump by years in both directions while everything goes on', async () => {
  const clock = createAdjustableClock()
  const host = await startTestHost({
    clock,
    plugins: [ticker],
    settings: { token },
  })
  const client = await connectAsync(host.mqttUrl, { username: 'x', password: token })
  try {
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/ticker' } })
    const login = await host.request('POST', '/api/session', { body: { token } })
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
    await host.request('POST', '/api/plugins/@fixtures/ticker/toggle', { body: { enabled: true } })
    await client.subscribeAsync('host/plugins/@fixtures/ticker/events/#')

    for (const offset of [0, year, -year, 10 * year, -10 * year, 0]) {
      clock.set(offset)
      const begun = clock.now()
      const [first = 0, second = 0] = await nextMessages(client, 2)
      assert.equal(second, first + 1, 'timers go on, one call after the other')
      const session = await fetch(new URL('/api/session', host.url), { headers: { cookie } })
      assert.deepEqual(await session.json(), { required: true, authenticated: true })
      const reloaded = await host.request('POST', '/api/plugins/@fixtures/ticker/reload')
      assert.deepEqual([reloaded.status, reloaded.body.state], [200, 'running'])
      const expected = offset > 0 ? 'for an hour: nil, for ever: kept' : 'for an hour: kept, for ever: kept'
      assert.equal(await lastLogLine(host), expected)
      const { body } = await host.request('GET', '/api/history')
      const at = Date.parse(body.events.at(-1).at)
      assert.ok(begun <= at && at <= clock.now(), 'facts have the time that the clock shows')
      assert.deepEqual(
        body.events.map(({ seq }: { seq: number }) => seq),
        body.events.map((_: unknown, index: number) => index + 1),
      )
    }
  } finally {
    await client.endAsync()
    await host.close()
  }
})

test('a host whose clock is before the last fact opens its journal and goes on from there', async () => {
  const clock = createAdjustableClock()
  let host = await startTestHost({ clock, plugins: [ticker] })
  try {
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/ticker' } })
    await host.request('POST', '/api/plugins/@fixtures/ticker/toggle', { body: { enabled: true } })
    const before = (await host.request('GET', '/api/history')).body.events
    for (const offset of [-20 * year, 20 * year]) {
      clock.set(offset)
      host = await host.restart()
      const { body } = await host.request('GET', '/api/plugins/@fixtures/ticker')
      assert.deepEqual([body.state, body.enabled], ['running', true])
      const { events } = (await host.request('GET', '/api/history')).body
      assert.deepEqual(events.slice(0, before.length), before)
      const then = await host.request('GET', `/api/history/${before.length}/state`)
      assert.equal(then.body.plugins[0].state, 'running')
    }
  } finally {
    await host.close()
  }
})
