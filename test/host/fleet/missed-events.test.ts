import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JournalEventView } from '../../../src/schema/journal/journal-event.ts'
import { collect, connect } from '../../bus/bus-fixture.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { startFleetStage } from './fleet-stage.ts'

/** What the topic with the events of a fleet gets of those that happen while the broker is away. */

const one = { id: 'one', lua: 'return Plugin:new("one")' }
const path = '/api/plugins/%40fixtures%2Fone'

test('events that the broker was not there for are told by the next host that speaks for the fleet', async (t) => {
  const stage = await startFleetStage(t, [one])
  const way = await createTcpProxy(t, stage.broker)
  const witness = await connect(t, stage.broker)
  const received = collect(witness)
  await witness.subscribeAsync('host/lifecycle', { qos: 1 })
  const told = (): number[] => received.all.map(({ text }) => (JSON.parse(text) as JournalEventView).seq)

  const a = await stage.start('a', { settings: { mqttUrl: `mqtt://127.0.0.1:${way.port}` } })
  await a.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/one' } })
  // The first host that speaks for a fleet begins with the present, whenever it comes to that.
  await until('the first word', async () => {
    await a.request('POST', `${path}/config`, {
      body: { config: { word: String(a.host.lifecycle.lastSeq) } },
    })
    return told().length > 0
  })
  const { lastSeq: before } = a.host.lifecycle
  await until('what happened so far', async () => told().includes(before))

  way.refuse()
  await until('the end of the connection', async () => {
    const { body } = await a.request('GET', '/readyz')
    return String(body.reasons).includes('the broker is not connected')
  })
  await a.request('POST', `${path}/config`, { body: { config: { word: 'missed' } } })
  const { lastSeq: missed } = a.host.lifecycle
  assert.ok(missed > before)
  await a.host.close()

  const b = await stage.start('b')
  await until('the present', async () => told().includes(b.host.lifecycle.lastSeq))
  const first = told()[0] ?? 0
  const { lastSeq } = b.host.lifecycle
  assert.deepEqual(
    [...new Set(told())],
    Array.from({ length: lastSeq - first + 1 }, (_, index) => first + index),
  )
})
