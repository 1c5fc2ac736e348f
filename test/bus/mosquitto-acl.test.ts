import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { collect, connect, lines } from './bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from './mosquitto.ts'

const acl = join(import.meta.dirname, '..', '..', 'docker', 'mosquitto.acl')

test(
  'With the rules for Mosquitto a client sends commands to the host and sets things, but reads no command of another',
  { skip: mosquittoMissing },
  async (t) => {
    const mosquitto = await startMosquitto(t, ['allow_anonymous true', `acl_file ${acl}`])
    const host = await connect(t, mosquitto.url, { username: 'lupine' })
    const client = await connect(t, mosquitto.url, { username: 'client' })
    const [atHost, atClient] = [collect(host), collect(client)]
    await host.subscribeAsync('host/#', { qos: 1 })
    await client.subscribeAsync(['#', 'host/#', 'host/request/#', 'host/request/config'], { qos: 1 })
    const set = 'host/plugins/@a/b/exposed/lamp/state/set'
    for (const topic of ['host/status', 'host/response/list', 'host/request/config', set]) {
      await client.publishAsync(topic, 'client', { qos: 1 })
    }
    for (const topic of [
      'host/request/config',
      'host/response/config',
      'host/plugins/@a/b/state',
      'host/status',
      'host/hosts/cellar/status',
    ]) {
      await host.publishAsync(topic, 'host', { qos: 1 })
    }
    await host.publishAsync('home/end', 'x', { qos: 1 })
    const seen = await atHost.take(7)
    assert.deepEqual(lines(seen.slice(0, 2)), ['host/request/config client', `${set} client`])
    while (!atClient.all.some(({ topic }) => topic === 'home/end'))
      await atClient.take(atClient.all.length + 1)
    assert.deepEqual([...new Set(lines(atClient.all))].sort(), [
      'home/end x',
      'host/hosts/cellar/status host',
      'host/plugins/@a/b/exposed/lamp/state/set client',
      'host/plugins/@a/b/state host',
      'host/response/config host',
      'host/status host',
    ])
  },
)
