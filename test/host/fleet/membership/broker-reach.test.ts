import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchBrokerReach } from '../../../../src/host/fleet/membership/broker-reach.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'
import { connectTo, startStore } from '../../../helpers/nats-server.ts'
import { until } from '../../../helpers/until.ts'

test('a host that hears that another one has the broker again tries at once for a while, then at its own pace', async (t) => {
  const { url } = await startStore(t)
  const host = async (id: string) => {
    const clock = createManualClock()
    const bus = { connected: false, tries: 0, hurry: () => void (bus.tries += 1) }
    let known: ReadonlySet<string> = new Set()
    const stop = watchBrokerReach({
      ...{ fleet: { connection: await connectTo(t, url), name: 'test' }, host: id, clock, bus },
      changed: (withoutBroker) => (known = withoutBroker),
      othersReach: () => !known.has('b'),
      cutOff: () => undefined,
    })
    t.after(stop)
    return { clock, bus, known: () => [...known] }
  }
  const [a, b] = [await host('a'), await host('b')]
  for (let second = 0; second < 6; second += 1) b.clock.advance(1_000)
  await until('a to hear of b', async () => {
    b.clock.advance(1_000)
    a.clock.advance(1_000)
    return a.known().join() === 'a,b'
  })
  const before = a.bus.tries
  b.bus.connected = true
  for (let second = 0; second < 5; second += 1) b.clock.advance(1_000)
  const triesAfter = (seconds: number): number => {
    for (let second = 0; second < seconds; second += 1) a.clock.advance(1_000)
    return a.bus.tries - before
  }
  assert.equal(triesAfter(2), 0, 'b may not have it yet')
  assert.equal(triesAfter(60), 5)
})
