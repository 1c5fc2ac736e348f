import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { command, startHostFor } from '../helpers/test-host.ts'

test('what a host by itself refuses is not carried out behind what was asked after it', async (t) => {
  const host = await startHostFor(t)
  const hello = await command(host, 'install', { fullId: '@fixtures/hello' })
  const client = await connect(t, host.mqttUrl)
  const answers = collect(client)
  await client.subscribeAsync('host/response/+', { qos: 1 })
  // The first has something written down while the second one waits for its turn.
  for (const verb of ['toggle', 'install', 'uninstall'])
    client.publish(`host/request/${verb}`, JSON.stringify({ plugin: hello.id }), { qos: 1 })
  const found = await answers.take(3)
  const codes = found.map(({ topic, text }) => [topic, JSON.parse(text).error?.code])
  assert.equal(Object.fromEntries(codes)['host/response/install'], 'already_installed')
  assert.equal((await host.request('GET', '/api/plugins/hello')).status, 404)
})
