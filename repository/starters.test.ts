import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../src/base/text/json.ts'
import { noResources } from '../src/schema/plugin/plugin.ts'
import { startStarterPlugin } from '../test/helpers/starter-plugin.ts'

/** What every starter plugin has to do; what each is for is tested beside it. */

const unreachable = 'http://127.0.0.1:9'

/** The least that each needs to be set. */
const configs: Record<string, Record<string, Json>> = {
  clock: {},
  counter: {},
  'http-sensor': { values: [{ id: 'temperature', url: `${unreachable}/data.json`, path: '$.temperature' }] },
  influx: {
    kind: 'influx1',
    url: unreachable,
    database: 'home',
    mapping: [{ filter: 'home/#', measurement: 'home' }],
  },
  'modbus-meter': {
    host: '127.0.0.1',
    port: 9,
    registers: [{ id: 'power', kind: 'input', address: 0, unit: 'W' }],
  },
  'mqtt-bridge': { rules: [{ from: 'a/b', to: 'c/d' }] },
  notify: { webhookUrl: unreachable, webhook: unreachable },
  'p1-meter': { connection: 'tcp', host: '127.0.0.1', port: 9 },
  presence: { people: [{ name: 'Ann', topics: ['phones/ann'] }] },
  rules: {
    rules: [
      { name: 'tick', when: 'event', event: 'clock:minute', actions: [{ do: 'publish', topic: 'a/b' }] },
    ],
  },
  schedule: { schedules: [{ name: 'morning', when: '0 7 * * *' }] },
  shelly: { devices: [{ host: '127.0.0.1:9' }] },
  sun: { latitude: 47.4, longitude: 8.5 },
  threshold: { topic: 'a/b', limit: 5 },
  weather: { lat: 47.4, lon: 8.5 },
  webhook: { requests: [{ path: 'doorbell' }] },
  zigbee2mqtt: {},
}

const index = JSON.parse(readFileSync(join(import.meta.dirname, 'plugins.json'), 'utf8')) as {
  plugins: { id: string }[]
}

for (const { id } of index.plugins) {
  test(`${id} loads, exposes itself to Home Assistant, and unloads to nothing`, async () => {
    const rewrite = { 'https://api.open-meteo.com': unreachable }
    const plugin = await startStarterPlugin(id, configs[id] ?? {}, {
      discoveryPrefix: 'homeassistant',
      httpRewrite: rewrite,
    })
    try {
      const { lifecycle } = plugin.host.host
      const exposures = lifecycle.exposures(`@starter/${id}`)
      assert.ok(
        exposures.length > 0,
        `nothing is exposed; the log says: ${(await plugin.logs('error')).join()}`,
      )
      const answer = await plugin.host.request('POST', `/api/plugins/${id}/toggle`, {
        body: { enabled: false },
      })
      assert.deepEqual([answer.body.state, answer.body.resources], ['unloaded', noResources])
      assert.deepEqual(lifecycle.exposures(`@starter/${id}`), [])
    } finally {
      await plugin.close()
    }
  })
}
