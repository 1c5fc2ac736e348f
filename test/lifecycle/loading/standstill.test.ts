import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { logMessages, startHostFor } from '../../helpers/test-host.ts'

/** Says that it is at it, and uses up its time. */
const endless = {
  id: 'endless',
  lua: `
local plugin = Plugin:new("endless")
plugin:onInit(function()
  plugin:log("info", "busy")
  for i = 1, 1e9 do plugin:upsertObject("o" .. (i % 1000), { i = i }) end
end)
return plugin
`,
}

for (const isolation of ['dedicated', 'shared'] as const) {
  test(`a load that ran out of time while the host stood still is tried once more, and any other is not (${isolation})`, async (context) => {
    let stoodStill = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stoodStill }
    const host = await startHostFor(context, {
      clock,
      plugins: [endless],
      settings: { isolation },
      limits: { luaLoad: 700 },
    })
    let standsStill = true
    const stop = host.host.lifecycle.subscribe((announcement) => {
      if (announcement.kind !== 'log' || announcement.line.value().message !== 'busy' || !standsStill) return
      standsStill = false
      stoodStill += 40_000
    })
    context.after(stop)
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/endless' } })
    const said = async (): Promise<string[]> => {
      const lines = await logMessages(host, 'endless')
      const messages = lines.map((message) => message.replace(/\d+ s of/, 'N s of'))
      return messages.filter((message) => /^busy|^The host stood still/.test(message))
    }
    for (const [action, expected] of [
      ['toggle', ['busy', 'The host stood still for N s of that; it is loaded once more', 'busy']],
      ['reload', ['busy']],
    ] as const) {
      const before = (await said()).length
      const { body } = await host.request('POST', `/api/plugins/endless/${action}`)
      assert.deepEqual([body.state, body.error.code], ['failed', 'load_timeout'])
      assert.deepEqual((await said()).slice(before), expected)
    }
  })
}
