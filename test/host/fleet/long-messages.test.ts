import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** What plugins say that is longer than one message of the store. */

/** Characters of an event that just has room in the mebibyte that one may have. */
const length = 1_048_540

const sayer = {
  id: 'sayer',
  lua: `
local plugin = Plugin:new("sayer")
plugin:onInit(function()
  plugin:control("say", function() return 0 end, function(value) plugin:emit("say:it", { text = string.rep("x", value) }) end)
end)
return plugin
`,
}
const listener = {
  id: 'listener',
  lua: `
local plugin = Plugin:new("listener")
local lengths = {}
plugin:onInit(function()
  plugin:on("say:it", function(data)
    table.insert(lengths, #data.text)
    plugin:upsertObject("heard", { lengths = lengths })
  end)
end)
return plugin
`,
}

test('an event that is as long as one may be reaches who listens on another host, in its place among the others', async (t) => {
  const stage = await startFleetStage(t, [sayer, listener])
  const a = await stage.start('a')
  const b = await stage.start('b')
  for (const [id, host] of [
    ['@fixtures/sayer', 'a'],
    ['@fixtures/listener', 'b'],
  ] as const) {
    await install(a, id)
    await a.request('PUT', `/api/plugins/${encodeURIComponent(id)}/placement`, { body: { host } })
    await untilPlugin(b, id, `on ${host}`, (plugin) => plugin.host === host && plugin.state === 'running')
  }
  const say = async (value: number): Promise<void> => {
    const { status } = await a.request('PUT', '/api/plugins/%40fixtures%2Fsayer/controls/say', {
      body: { value },
    })
    assert.equal(status, 200)
  }
  const heard = async (): Promise<number[]> => {
    const { body } = await b.request('GET', '/api/plugins/%40fixtures%2Flistener/objects')
    return body.objects.heard?.lengths ?? []
  }
  // It is known a moment later who listens.
  await until('somebody to listen', async () => {
    await say(1)
    return (await heard()).length > 0
  })
  await say(length)
  await say(2)
  await until('what came after it', async () => (await heard()).includes(2))
  assert.deepEqual([...new Set(await heard())], [1, length, 2])
})
