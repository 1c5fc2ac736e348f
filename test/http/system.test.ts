import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { hostVersion, startHostFor, startTestHost, type TestHost } from '../helpers/test-host.ts'

let host: TestHost
before(async () => {
  host = await startTestHost()
})
after(() => host.close())

test('the host says what it is, how it is, and what its plugins take', async () => {
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  const idle = (await host.request('GET', '/api/system')).body
  assert.deepEqual([idle.isolates, idle.plugins], [[], { installed: 1 }])
  await host.request('POST', '/api/plugins/demo/toggle')
  const { body } = await host.request('GET', '/api/system')
  const { startedAt, uptime, ...known } = body.host
  assert.match(startedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.ok(uptime > 0)
  assert.deepEqual(known, { id: host.host.id, safeMode: null })
  assert.deepEqual(
    {
      fleet: body.fleet,
      versions: [body.versions.host, body.versions.node],
      broker: { ...body.broker, messages: undefined },
      http: body.http,
      journal: body.journal,
      plugins: body.plugins,
      isolates: body.isolates.map(({ plugin, isolation, worker, memoryLimit }: any) => [
        ...[plugin, isolation, worker, memoryLimit],
      ]),
      health: body.health,
    },
    {
      fleet: null,
      versions: [hostVersion, process.versions.node],
      broker: { kind: 'embedded', url: host.mqttUrl, connected: true, clients: 0, messages: undefined },
      http: { url: host.url, eventStreams: 0, inspectors: 0 },
      journal: { seq: host.host.lifecycle.lastSeq },
      plugins: { running: 1 },
      isolates: [['@fixtures/demo', 'shared', 1, 256 * 1024 * 1024]],
      health: { ready: true, reasons: [] },
    },
  )
  assert.ok(body.process.memory > 1024 * 1024 && body.process.cpuSeconds > 0)
})

for (const [mqttUrl, shown] of [
  ['mqtt://me:hunter2@127.0.0.1:1', 'mqtt://127.0.0.1:1'],
  ['wss://127.0.0.1:1/mqtt?token=hunter2', 'wss://127.0.0.1:1/mqtt'],
] as const)
  test(`an external broker is named without its password: ${shown}`, async (context) => {
    const other = await startHostFor(context, { settings: { mqttUrl } })
    const { body } = await other.request('GET', '/api/system')
    assert.deepEqual(
      [body.broker.kind, body.broker.url, body.broker.connected, body.broker.clients, body.health.ready],
      ['external', shown, false, null, false],
    )
    assert.ok(!JSON.stringify(body).includes('hunter2'))
  })

test('a host that began in 1970, and was told the time since, says when it began all the same', async (context) => {
  const decades = Date.now()
  let behind = decades
  const young = await startHostFor(context, {
    clock: { ...systemClock, now: () => systemClock.now() - behind },
  })
  const shown = async (): Promise<number[]> => {
    const { body } = await young.request('GET', '/api/system')
    const metrics = await (await fetch(new URL('/metrics', young.url))).text()
    const seconds = /^process_start_time_seconds (.*)$/m.exec(metrics)?.[1]
    return [Date.parse(body.host.startedAt), Number(seconds) * 1_000]
  }
  const hour = 3_600_000
  for (const time of await shown()) assert.ok(Math.abs(time) < hour, `${time}`)
  behind = 0
  for (const time of await shown()) assert.ok(Math.abs(time - decades) < hour, `${time}`)
})
