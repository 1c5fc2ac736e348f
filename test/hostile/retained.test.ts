import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retainedLimits } from '../../src/bus/store/retained-ledger.ts'
import { pluginRetainedLimits } from '../../src/schema/plugin/retained-account.ts'
import { collect, connect } from '../bus/bus-fixture.ts'
import { logMessages, startTestHost } from '../helpers/test-host.ts'

/** One plugin and one client that retain without end: the broker keeps a bounded part, and others their room. */

const mebi = 1024 * 1024

const plugins = [
  {
    id: 'hoarder',
    lua: `
      local plugin = Plugin:new("hoarder")
      plugin:onInit(function()
        local large = string.rep("x", 500000)
        for number = 1, 40 do
          local sent, refusal = plugin:mqttPublish("hoard/" .. number, large, { retain = true })
          if not sent then print("refused at", number, refusal) break end
        end
        print("event", plugin:emit("large", large, { retain = true }))
        print("plain", plugin:mqttPublish("plain/1", large))
        print("gives back", plugin:mqttPublish("hoard/1", "", { retain = true }))
        print("again", plugin:emit("large", large, { retain = true }))
      end)
    `,
  },
  {
    id: 'modest',
    lua: `
      local plugin = Plugin:new("modest")
      plugin:onInit(function() print("kept", plugin:mqttPublish("modest/1", "x", { retain = true })) end)
    `,
  },
]

test('a plugin and a client that retain without end fill their own room, and nobody else’s', async (context) => {
  const host = await startTestHost({ plugins })
  context.after(() => host.close())
  const linesOf = (id: string): Promise<string[]> => logMessages(host, id, '?limit=1000')
  const enable = async (id: string): Promise<void> => {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
    assert.equal(body.state, 'running', JSON.stringify(body.error))
  }
  await enable('hoarder')
  // What it retained counts on in its next load, too.
  await host.request('POST', '/api/plugins/hoarder/toggle', { body: { enabled: false } })
  const client = await connect(context, host.mqttUrl)
  const payload = Buffer.alloc(mebi)
  for (let number = 0; number < 40; number += 1)
    await client.publishAsync(`client/${number}`, payload, { retain: true, qos: 1 })
  await enable('modest')

  const lines = await linesOf('hoarder')
  assert.ok(
    lines.some((line) => line.startsWith('refused at\t17\tnothing more is retained')),
    lines.join('\n'),
  )
  assert.ok(lines.some((line) => line.startsWith('event\tfalse\tnothing more is retained')))
  for (const line of ['plain\ttrue', 'gives back\ttrue', 'again\ttrue']) assert.ok(lines.includes(line), line)
  assert.equal(lines.filter((line) => line.startsWith('Refused: nothing more is retained')).length, 1)
  assert.deepEqual(await linesOf('modest'), ['kept\ttrue'])

  const observer = await connect(context, host.mqttUrl)
  const received = collect(observer)
  await client.publishAsync('client/39', '', { retain: true, qos: 1 })
  await client.publishAsync('client/39', 'end', { retain: true, qos: 1 })
  await observer.subscribeAsync('#', { qos: 1 })
  while (!received.all.some(({ text }) => text === 'end')) await received.take(received.all.length + 1)
  const bytesBelow = (prefix: string): number =>
    received.all
      .filter(({ topic, retain }) => retain && topic.startsWith(prefix))
      .reduce((sum, { topic, text }) => sum + topic.length + text.length, 0)
  const hoarded = bytesBelow('hoard/') + bytesBelow('host/plugins/@fixtures/hoarder/events/')
  assert.ok(hoarded > 7 * mebi && hoarded <= pluginRetainedLimits.bytes, `${hoarded} bytes`)
  const ofClient = bytesBelow('client/')
  assert.ok(ofClient > 30 * mebi && ofClient <= retainedLimits.address.bytes, `${ofClient} bytes`)
  assert.ok(received.all.some(({ topic }) => topic === 'modest/1'))

  assert.equal((await host.request('DELETE', '/api/plugins/hoarder')).status, 200)
  const after = await connect(context, host.mqttUrl)
  const left = collect(after)
  await after.subscribeAsync('hoard/#', { qos: 1 })
  await after.publishAsync('hoard/end', 'end', { qos: 1 })
  assert.deepEqual(
    (await left.take(1)).map(({ topic }) => topic),
    ['hoard/end'],
  )
})
