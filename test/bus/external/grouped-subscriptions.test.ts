import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import {
  createGroupedSubscriptions,
  type GroupedSubscriptions,
} from '../../../src/bus/external/grouped-subscriptions.ts'
import { createQuarantine } from '../../../src/bus/external/quarantine.ts'
import { createInbox } from '../../../src/bus/inbox.ts'
import { collectFromBus, connect, startExternalBus, textOf } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** What becomes of the numbers by which a broker of MQTT 5 says to which subscription a message belongs. */

const options = { skip: mosquittoMissing }

const nothing = () => undefined

/** Nothing is kept back from the broker, or refused by it. */
function createSubscriptions(): GroupedSubscriptions {
  const quarantine = createQuarantine({
    clock: systemClock,
    ownerOf: nothing,
    held: nothing,
    released: nothing,
  })
  return createGroupedSubscriptions(createInbox(silentLogger), quarantine, nothing)
}

test(
  'Of many that subscribe to one filter before the broker has answered each gets what is retained',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const bus = await startExternalBus(context, mosquitto.url)
    await bus.publish('lamps', 'retained', { qos: 1, retain: true })
    await bus.flush()
    const all = await Promise.all(Array.from({ length: 12 }, () => collectFromBus(bus, 'lamps')))
    // Comes to everybody, and after all that was retained.
    await bus.publish('lamps', 'live', { qos: 1 })
    assert.deepEqual(
      (await Promise.all(all.map((one) => one.take(1)))).map(([first]) => first && textOf(first)),
      all.map(() => 'lamps retained'),
    )
  },
)

test(
  'The numbers of subscriptions that have ended are forgotten but for the last ones, however many come and go',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const client = await connect(context, mosquitto.url, { protocolVersion: 5 })
    const subscriptions = createSubscriptions()
    await subscriptions.open(client, 5)
    const heard: string[] = []
    const payload = Buffer.from('x')
    const arrivals = (number: number): number => {
      heard.length = 0
      const properties = { subscriptionIdentifier: number }
      const flags = { qos: 0, dup: false, retain: false } as const
      subscriptions.deliver('a', payload, { cmd: 'publish', topic: 'a', payload, ...flags, properties })
      return heard.length
    }
    const add = () => subscriptions.add('a', ({ topic }) => void heard.push(topic), { immediate: true })
    add()
    for (let number = 2; number <= 30; number += 1) await add().close()
    assert.deepEqual(
      Array.from({ length: 31 }, (_, index) => index).filter((number) => arrivals(number) === 1),
      [1, 23, 24, 25, 26, 27, 28, 29, 30],
    )
  },
)

test('Where a broker does not say to which subscription a message belongs, it comes to those to whose filter it does', () => {
  const subscriptions = createSubscriptions()
  const heard: string[] = []
  const filters = ['#', '+/b', 'a/#', 'a/b', '$SYS/#', '$SYS/+', '$share/workers/a/+', '$share/workers/#']
  for (const filter of filters) subscriptions.add(filter, () => void heard.push(filter), { immediate: true })
  const arrivals = (topic: string): string[] => {
    heard.length = 0
    const payload = Buffer.from('x')
    subscriptions.deliver(topic, payload, {
      ...{ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false },
    })
    return heard.sort()
  }
  assert.deepEqual(arrivals('a/b'), [...['#', '$share/workers/#', '$share/workers/a/+', '+/b', 'a/#', 'a/b']])
  assert.deepEqual(arrivals('a'), ['#', '$share/workers/#', 'a/#'])
  // A wildcard in front does not mean what begins with a dollar.
  assert.deepEqual(arrivals('$SYS/b'), ['$SYS/#', '$SYS/+'])
  assert.deepEqual(arrivals('other'), ['#', '$share/workers/#'])
})
