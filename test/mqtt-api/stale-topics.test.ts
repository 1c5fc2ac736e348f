import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { startHome } from '../host/former-names-stage.ts'
import { endLatestFirst } from '../helpers/end-latest-first.ts'
import { createTcpProxy } from '../helpers/tcp-proxy.ts'
import { startTestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { cut } from './missed-events-stage.ts'

const options = { skip: mosquittoMissing }

/** More than mosquitto keeps waiting for one subscriber, and than the host has cleared in one go. */
const count = 8_000

async function leaveGhosts(context: TestContext, url: string): Promise<void> {
  const client = await connect(context, url)
  const ghosts = Array.from({ length: count }, (_, index) => `host/plugins/@a/b/sensors/s${index}`)
  await Promise.all(ghosts.map((topic) => client.publishAsync(topic, '1', { retain: true, qos: 1 })))
  await client.publishAsync('host/mine', '1', { retain: true, qos: 1 })
}

function untilNoGhost(context: TestContext, url: string): Promise<unknown> {
  return until(
    'nothing of the former run',
    async () => {
      const reader = await connect(context, url)
      const received = collect(reader)
      await reader.subscribeAsync(['host/plugins/@a/#', 'host/mine'], { qos: 0 })
      await reader.publishAsync('host/mine', 'last', { qos: 1 })
      while (!received.all.some(({ text }) => text === 'last')) await received.take(received.all.length + 1)
      await reader.endAsync()
      assert.ok(received.all.some(({ topic, retain }) => topic === 'host/mine' && retain))
      return received.all.every(({ topic, retain }) => topic === 'host/mine' || !retain)
    },
    20_000,
  )
}

test(
  'What a former run left goes from an external broker, also when it is more than that keeps for a subscriber',
  options,
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    await leaveGhosts(context, mqttUrl)
    await startHome(context, { mqttRoot: 'host', mqttUrl })
    await untilNoGhost(context, mqttUrl)
  },
)

test('It goes as well when a plugin has subscribed to all that plugins show', options, async (context) => {
  const { url } = await startMosquitto(context)
  const way = await createTcpProxy(context, url)
  const watcher = {
    id: 'watcher',
    lua: `
local plugin = Plugin:new("watcher")
plugin:onInit(function() plugin:mqttSubscribe("host/plugins/#", function() end) end)
`,
  }
  const settings = { mqttUrl: `mqtt://127.0.0.1:${way.port}` }
  const host = await startTestHost({ plugins: [watcher], settings })
  endLatestFirst(context, () => host.close())
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/watcher' } })
  assert.equal((await host.request('POST', '/api/plugins/watcher/toggle')).body.state, 'running')
  await cut({ way }, host)
  await leaveGhosts(context, url)
  way.pass()
  await untilNoGhost(context, url)
})
