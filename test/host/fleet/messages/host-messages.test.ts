import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../../src/base/time/clock.ts'
import type { Json } from '../../../../src/base/text/json.ts'
import { serializeJson } from '../../../../src/base/text/serialized-json.ts'
import { createHostMessages } from '../../../../src/host/fleet/messages/host-messages.ts'
import { createEventHub } from '../../../../src/lifecycle/running/event-hub.ts'
import { createRecordingLogger } from '../../../bus/bus-fixture.ts'
import { connectTo, startStore } from '../../../helpers/nats-server.ts'
import { until } from '../../../helpers/until.ts'

/** Hosts that tell each other of the events of their plugins, over the store at this address. */
async function createHost(context: TestContext, url: string, host: string) {
  const connection = await connectTo(context, url)
  const events = createEventHub()
  const logger = createRecordingLogger()
  const messages = createHostMessages({
    ...{ connection, fleet: 'test', host, clock: systemClock, logger, events },
    watches: () => false,
    take: () => undefined,
    maySpeak: () => true,
  })
  context.after(() => messages.close())
  return { connection, events, messages, emit, logger }

  function emit(name: string, text: string): void {
    const data = serializeJson<Json>(text)
    messages.tell({ kind: 'event', plugin: '@fixtures/sayer', name, data, qos: 0, retain: false })
  }
}

for (const [what, lines, count] of [
  ['more than has room in one message of the store', [], 12_000],
  ['a store takes little in a message', ['max_payload: 20000'], 300],
] as const)
  test(`plugins of several hosts hear of each other, also where ${what}`, async (context) => {
    const { url } = await startStore(context, { lines: [...lines] })
    const a = await createHost(context, url, 'a')
    const b = await createHost(context, url, 'b')
    const heard: unknown[] = []
    for (let n = 0; n < count; n += 1) {
      const name = `sensor:${String(n).padStart(100, '0')}`
      b.events.subscribe('@fixtures/listener', name, (_name, data) => void heard.push(data.value()))
    }
    const last = `sensor:${String(count - 1).padStart(100, '0')}`
    const text = 'x'.repeat(30_000)
    await until('the last one to be heard', async () => {
      a.emit(last, text)
      return heard.length > 0
    })
    assert.equal(heard[0], text)
  })

for (const [kind, text] of [
  ['wishes', '{"from":"b","names":5}'],
  ['events', '{"from":"b","piece":null}\n"x"'],
] as const)
  test(`of ${kind} that no host of this version says a line tells, and the connection stays`, async (context) => {
    const { url } = await startStore(context)
    const a = await createHost(context, url, 'a')
    const heard: unknown[] = []
    a.events.subscribe('@fixtures/listener', 'sensor:a', (_name, data) => void heard.push(data.value()))
    const other = await connectTo(context, url)
    await a.connection.flush()
    other.publish(`lupine.test.messages.${kind}`, text)
    other.publish('lupine.test.messages.events', '{"from":"b","plugin":"@a/b","name":"sensor:a"}\n"hello"')
    await until('what came after it', async () => heard.length > 0)
    assert.deepEqual(
      [heard, a.logger.lines.map(({ message }) => message)],
      [['hello'], ['A message between hosts of the fleet was not understood']],
    )
  })
