import assert from 'node:assert/strict'
import { test } from 'node:test'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

const id = '@fixtures/picky'
const path = (rest: string): string => `/api/plugins/${encodeURIComponent(id)}/${rest}`
const version = (number: number, onInit: string) => ({
  id: 'picky',
  version: `${number}.0.0`,
  lua: `
local plugin = Plugin:new("picky")
plugin:onInit(function() ${onInit} end)
return plugin
`,
})

test(
  'an update on trial that does not load on the host which takes the plugin over goes back there',
  { timeout: 60_000 },
  async (t) => {
    const stage = await startFleetStage(t, [version(1, '')])
    const a = await stage.start('a')
    await install(a, id)
    const once = 'if plugin:kvGet("loaded") then error("not again") end plugin:kvSet("loaded", true)'
    await stage.publish([version(2, once)])
    const { body } = await a.request('POST', path('update'), { body: {} })
    assert.deepEqual([body.version, body.state, body.trial?.from], ['2.0.0', 'running', '1.0.0'])
    const b = await stage.start('b')
    await b.request('POST', '/api/hosts/a/drain')
    const back = await untilPlugin(
      b,
      id,
      'as it was before',
      ({ version, state }) => version === '1.0.0' && state === 'running',
    )
    assert.deepEqual([back.host, back.trial], ['b', null])
  },
)
