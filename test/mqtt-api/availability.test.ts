import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { installAndStart, startHostFor } from '../helpers/test-host.ts'

const home = {
  id: 'home',
  lua: `
local plugin = Plugin:new("home")
local level = 0
local lamp = { get = function() return level end }
plugin:onInit(function()
  expose(lamp, "sensor", { id = "a/lamp" })
  expose(plugin:sensor("warm", function() return 20.5 end), "temperature")
  expose(plugin:sensor("bell", function() return nil end), "event", { options = { "ring" } })
  plugin:mqttSubscribe("test/level", function(_, text) level = tonumber(text) end)
  plugin:mqttSubscribe("test/there", function(_, text) lamp:setAvailable(text == "yes") end)
end)
`,
}

const exposed = 'host/plugins/@fixtures/home/exposed'
const lamp = `${exposed}/a%2Flamp`

test('What a plugin exposes is online until its object says otherwise, and says nothing when it is gone', async (t) => {
  const host = await startHostFor(t, { plugins: [home] })
  const client = await connect(t, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync([`${exposed}/#`, 'test/mark'], { qos: 1 })
  /** How many messages have come, once this one has. */
  async function until(topic: string, text: string, from: number): Promise<number> {
    for (let count = from + 1; ; count += 1) {
      const message = (await received.take(count))[count - 1]
      if (message?.topic === topic && message.text === text) return count
    }
  }
  const onTopic = (topic: string): string[] =>
    received.all.filter((message) => message.topic === topic).map(({ text }) => text)

  await installAndStart(host, 'home')
  await client.publishAsync('test/mark', 'loaded')
  let seen = await until('test/mark', 'loaded', 0)
  assert.deepEqual(onTopic(`${lamp}/availability`), ['online'])

  await client.publishAsync('test/there', 'no')
  seen = await until(`${lamp}/availability`, 'offline', seen)
  // Values that change meanwhile say it again, the topic does not.
  await client.publishAsync('test/level', '7')
  seen = await until(lamp, '{"value":7,"available":false}', seen)
  const newcomer = await connect(t, host.mqttUrl)
  const late = collect(newcomer)
  await newcomer.subscribeAsync(`${lamp}/#`, { qos: 1 })
  assert.deepEqual((await late.take(2)).map(({ topic, text }) => [topic, text]).sort(), [
    [lamp, '{"value":7,"available":false}'],
    [`${lamp}/availability`, 'offline'],
  ])
  await client.publishAsync('test/there', 'yes')
  seen = await until(`${lamp}/availability`, 'online', seen)

  await host.request('POST', '/api/plugins/home/toggle')
  await until(`${lamp}/availability`, '', seen)
  await until(`${exposed}/warm/availability`, '', seen)
  assert.deepEqual(onTopic(`${lamp}/availability`), ['online', 'offline', 'online', ''])
  assert.deepEqual(onTopic(`${exposed}/warm/availability`), ['online', ''])
  // An event has happened, or has not.
  assert.deepEqual(onTopic(`${exposed}/bell/availability`), [])
})
