import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discoveryBytesLimit, discoveryOf } from '../../src/home-assistant/discovery-payload.ts'
import { linesOf, pluginSource } from '../sandbox/stage.ts'

test('what a plugin exposes counts in bytes: one that says too much of itself is refused, the others stay', async () => {
  const lines = await linesOf(
    pluginSource(`
      local options = {}
      for n = 1, 200 do options[n] = n .. ("x"):rep(120) end
      local exposed, problem = 0, nil
      for n = 1, 990 do
        local ok, message = pcall(expose, { get = function() return "a" end, set = function() end }, "select", { id = "s" .. n, options = options })
        if ok then exposed = exposed + 1 else problem = message end
      end
      print(exposed, problem)
      print(pcall(expose, { get = function() return 1 end }, "sensor", { id = "s1" }))
      print((pcall(expose, { get = function() return 1 end }, "sensor", { id = "small" })))
    `),
  )
  const [first = '', second = '', third = ''] = lines
  assert.match(first, /^40\ttoo many exposures: what they say of themselves may take 1048576 bytes$/)
  assert.match(second, /^true/)
  assert.equal(third, 'true')
})

test('the message to Home Assistant has a bound, and says how much of it is left out', () => {
  const options = Array.from({ length: 200 }, (_unused, number) => String(number).padStart(128, '0'))
  const exposures = Array.from({ length: 990 }, (_unused, number) => ({
    id: `s${number}`,
    exposure: {
      component: 'select' as const,
      type: 'select',
      name: `s${number}`,
      features: ['value'],
      writable: ['value'],
      options,
    },
    state: {},
  }))
  const plugin = {
    id: '@a/b',
    namespace: 'a',
    shortId: 'b',
    name: 'B',
    version: '1.0.0',
    author: null,
    homepage: null,
  }
  const context = { hostId: 'h', hostVersion: '1.0.0', root: 'host' }
  const { payload, platforms, leftOut } = discoveryOf(context, plugin, exposures)
  assert.ok(JSON.stringify(payload).length < discoveryBytesLimit + 4_096)
  assert.equal(platforms.size + leftOut, 990)
  assert.ok(platforms.size > 50, String(platforms.size))
  // As many as a plugin may have, of an ordinary kind, all fit.
  const ordinary = exposures.map(({ exposure: { options: _options, ...exposure }, ...rest }) => ({
    ...rest,
    exposure: { ...exposure, component: 'sensor' as const, unit: '°C', deviceClass: 'temperature' },
  }))
  assert.equal(discoveryOf(context, plugin, ordinary).leftOut, 0)
})
