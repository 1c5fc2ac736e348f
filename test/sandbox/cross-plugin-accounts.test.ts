import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from './plugins-stage.ts'

test('§9 requests, throttle windows and lines that others cause leave room for the plugin, and name who caused them', async () => {
  await withStage(async ({ load }) => {
    const victim = await load(
      'victim',
      `
        plugin:on("own", function()
          print("sent", plugin:emit("tick", { n = 1 }, { throttle = 1e9 }))
          plugin:httpRequest("http://127.0.0.1/own", function() end)
        end)
      `,
    )
    const asked: string[] = []
    victim.recorder.outside = (call) => {
      if (call.service === 'http') asked.push(new URL(call.request.url).pathname)
      return new Promise(() => undefined)
    }
    await load(
      'caller',
      `
        local other = Plugin.get("@test/victim")
        for n = 1, 20 do other:httpRequest("http://127.0.0.1/other", function() end) end
        other:emit("tick", {}, { throttle = 1e9 })
        other:log("info", "not my own line")
      `,
    )
    victim.isolate.deliverEvent('own', undefined)
    assert.equal(await victim.recorder.logged('sent'), 'info sent\ttrue')
    await victim.recorder.until(() => (asked.includes('/own') ? true : undefined))
    assert.deepEqual(asked, [...Array<string>(4).fill('/other'), '/own'])
    assert.deepEqual(
      victim.recorder.named('log').find(([, message]) => message === 'not my own line'),
      ['info', 'not my own line', { caller: '@test/caller' }],
    )
  })
})
