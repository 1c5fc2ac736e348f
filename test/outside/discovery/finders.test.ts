import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test, type TestContext } from 'node:test'
import { createFinders, type Finders, type FindersSettings } from '../../../src/outside/discovery/finders.ts'
import { instanceLimit } from '../../../src/outside/discovery/dns-sd.ts'
import type { FoundService } from '../../../src/schema/outside/discovery.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'
import {
  loopback,
  startMdnsResponder,
  startSsdpResponder,
  testNetwork,
} from '../../helpers/multicast-responders.ts'
import { until } from '../../helpers/until.ts'

/** Milliseconds for what is on its way. */
const patience = 10_000

interface Looking {
  /** `name:port`, `-name` when it goes, and what else is told. */
  readonly told: string[]
  readonly services: Map<string, FoundService>
  stop(): void
  heard(text: string): Promise<unknown>
}

interface Stage {
  clock: ManualClock
  ports: { discovery: number; ssdp: number }
  /** Looks, and lets the clock go on a little so that questions are sent. */
  look(kind: keyof Finders, wanted: string): Promise<Looking>
}

async function stage(t: TestContext, settings: FindersSettings = {}): Promise<Stage> {
  const network = await testNetwork()
  const clock = createManualClock()
  const finders = createFinders(clock, { ...network, ...settings })
  const all: Looking[] = []
  t.after(() => {
    for (const { stop } of all) stop()
    assert.equal(clock.waiting, 0, 'nothing is left when nobody looks')
  })

  async function look(kind: keyof Finders, wanted: string): Promise<Looking> {
    const told: string[] = []
    const services = new Map<string, FoundService>()
    const stop = finders[kind].watch(wanted, {
      ready: () => told.push('ready'),
      tell(key, service) {
        told.push(service === undefined ? `-${key}` : `${key}:${service.port}`)
        if (service === undefined) services.delete(key)
        else services.set(key, service)
      },
      failed: (reason) => told.push(`failed: ${reason}`),
      warn: (message) => told.push(`warning: ${message}`),
    })
    const heard = (text: string): Promise<unknown> =>
      until(`${text} among ${told.join(', ')}`, () => Promise.resolve(told.includes(text)), patience)
    const looking = { told, services, stop, heard }
    all.push(looking)
    await until('the network', () => Promise.resolve(told.length > 0), patience)
    clock.advance(100)
    return looking
  }

  return { clock, ports: network.ports, look }
}

/** What is on its way through the loopback network gets there in a few turns. */
async function quiet(): Promise<boolean> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  return true
}

test('what is about to lapse is asked for again, and goes when nobody answers', async (t) => {
  const { clock, ports, look } = await stage(t)
  const responder = await startMdnsResponder(t, ports.discovery)
  responder.announce({ type: '_a._tcp', name: 'one', ttl: 100 })
  const { told, heard } = await look('discovery', '_a._tcp')
  await heard('one:80')
  for (let round = 0; round < 3; round += 1) {
    const asked = responder.askedFor('SRV one._a._tcp.local')
    clock.advance(80_200)
    await asked
    // The answer is on its way; it says nothing new, so only the next question tells.
    await until('the lease', async () => {
      clock.advance(1)
      return await quiet()
    })
  }
  assert.deepEqual(told, ['ready', 'one:80'])
  responder.silence()
  clock.advance(101_000)
  assert.deepEqual(told, ['ready', 'one:80', '-one'])
})

test('a service that says goodbye goes after a second, unless it says otherwise meanwhile', async (t) => {
  const { clock, ports, look } = await stage(t)
  const responder = await startMdnsResponder(t, ports.discovery)
  const one = { type: '_a._tcp', name: 'one' }
  const { told, heard } = await look('discovery', '_a._tcp')
  responder.announce(one)
  await heard('one:80')
  responder.withdraw(one)
  responder.announce(one)
  await quiet()
  clock.advance(2_000)
  assert.deepEqual(told, ['ready', 'one:80'])
  responder.withdraw(one)
  await quiet()
  clock.advance(500)
  assert.deepEqual(told, ['ready', 'one:80'])
  clock.advance(600)
  assert.deepEqual(told, ['ready', 'one:80', '-one'])
})

test('what an answer leaves out is asked for, names with dots and all', async (t) => {
  const { clock, ports, look } = await stage(t)
  const responder = await startMdnsResponder(t, ports.discovery, { apart: true })
  const name = 'Dr. Who. \\ "7"'
  const { heard, services } = await look('discovery', '_a._tcp')
  responder.announce({ type: '_a._tcp', name, host: 'h.local', address: '2001:db8::7', txt: ['a=b'] })
  await until('all of it', async () => {
    await quiet()
    clock.advance(100)
    return services.get(name)
  })
  await heard(`${name}:80`)
  assert.deepEqual(services.get(name), {
    ...{ name, host: 'h.local', addresses: ['2001:db8::7'], port: 80 },
    txt: [['a', 'b']],
  })
})

test('all who look share what is known, and the sockets are there as long as one of them looks', async (t) => {
  const { clock, ports, look } = await stage(t)
  const responder = await startMdnsResponder(t, ports.discovery)
  responder.announce({ type: '_a._tcp', name: 'one' })
  const first = await look('discovery', '_a._tcp')
  await first.heard('one:80')
  const second = await look('discovery', '_a._tcp')
  assert.deepEqual(second.told, ['ready', 'one:80'])
  first.stop()
  responder.announce({ type: '_a._tcp', name: 'one', port: 81 })
  await second.heard('one:81')
  assert.deepEqual(first.told, ['ready', 'one:80'])
  second.stop()
  assert.equal(clock.waiting, 0)
  // Known only as long as somebody looked.
  responder.silence()
  const third = await look('discovery', '_a._tcp')
  await quiet()
  assert.deepEqual(third.told, ['ready'])
})

test('when the networks change they are joined anew, and what is not found again goes', async (t) => {
  let networks = loopback()
  const { clock, ports, look } = await stage(t, { networks: () => networks })
  const responder = await startMdnsResponder(t, ports.discovery)
  const lasting = { type: '_a._tcp', name: 'lasting', host: 'l.local', address: '192.0.2.1' }
  const leaving = { type: '_a._tcp', name: 'leaving', host: 'g.local', address: '192.0.2.2' }
  for (const service of [lasting, leaving]) responder.announce(service)
  const { told, heard } = await look('discovery', '_a._tcp')
  await Promise.all([heard('lasting:80'), heard('leaving:80')])
  responder.silence()
  responder.announce(lasting)
  await quiet()
  networks = { ...networks, other: networks.lo }
  clock.advance(10_000)
  await quiet()
  const before = responder.asked.length
  await until(
    'another look',
    async () => {
      await quiet()
      clock.advance(50)
      return responder.asked.length > before
    },
    patience,
  )
  await quiet()
  clock.advance(10_500)
  assert.deepEqual(told, ['ready', 'lasting:80', 'leaving:80', '-leaving'])
  networks = {}
  clock.advance(10_000)
  await heard('failed: this machine has no network')
})

test('a network that takes no part in multicast is left out, and said when there is no other', async (t) => {
  const [nowhere] = Object.values(networkInterfaces())[0] ?? []
  assert.ok(nowhere)
  const broken = {
    away: [{ ...nowhere, family: 'IPv4' as const, address: '192.0.2.250', scopeid: undefined }],
  }
  let networks: ReturnType<typeof loopback> = { ...broken, ...loopback() } as never
  const { ports, look } = await stage(t, { networks: () => networks })
  const responder = await startMdnsResponder(t, ports.discovery)
  responder.announce({ type: '_a._tcp', name: 'one' })
  const { heard, stop } = await look('discovery', '_a._tcp')
  await heard('one:80')
  stop()
  networks = broken as never
  const { told } = await look('discovery', '_a._tcp')
  assert.match(told[0] ?? '', /^failed: 224\.0\.0\.251 cannot be joined on any network: /)
})

test('networks that cannot be listed for a while end no search that runs, and one that begins says so', async (t) => {
  let isListed = true
  const networks = (): ReturnType<typeof loopback> => {
    if (!isListed) throw new Error('too many open files')
    return loopback()
  }
  const { clock, ports, look } = await stage(t, { networks })
  const responder = await startMdnsResponder(t, ports.discovery)
  const running = await look('discovery', '_a._tcp')
  isListed = false
  clock.advance(10_000)
  const beginning = await look('ssdp', 'x')
  assert.deepEqual(beginning.told, ['failed: too many open files'])
  isListed = true
  assert.deepEqual((await look('ssdp', 'x')).told, ['ready'])
  clock.advance(10_000)
  responder.announce({ type: '_a._tcp', name: 'one' })
  await running.heard('one:80')
  assert.deepEqual(running.told, ['ready', 'one:80'])
})

test('a device of UPnP that is silent goes when its time is over, and is searched for before', async (t) => {
  const { clock, ports, look } = await stage(t)
  const responder = await startSsdpResponder(t, ports.ssdp)
  responder.announce({ target: 'x', usn: 'uuid:1::x', location: 'http://192.0.2.1/', maxAge: 100 })
  const { told, heard } = await look('ssdp', 'x')
  await heard('uuid:1::x:80')
  clock.advance(60_000)
  await quiet()
  const before = responder.searches.length
  clock.advance(25_000)
  await until('a search', async () =>
    (await quiet()) && responder.searches.length > before ? true : undefined,
  )
  assert.deepEqual(told, ['ready', 'uuid:1::x:80'])
  responder.silence()
  await quiet()
  clock.advance(101_000)
  assert.deepEqual(told, ['ready', 'uuid:1::x:80', '-uuid:1::x'])
})

test('who looks for everything that speaks SSDP is told of each thing, others of theirs alone', async (t) => {
  const { ports, look } = await stage(t)
  const responder = await startSsdpResponder(t, ports.ssdp)
  for (const target of ['a', 'b'])
    responder.announce({ target, usn: `uuid:1::${target}`, location: 'http://192.0.2.1:81/' })
  const all = await look('ssdp', 'ssdp:all')
  const one = await look('ssdp', 'b')
  await Promise.all([all.heard('uuid:1::a:81'), all.heard('uuid:1::b:81'), one.heard('uuid:1::b:81')])
  assert.deepEqual(one.told, ['ready', 'uuid:1::b:81'])
  all.stop()
  one.stop()
})

test('more than a bound of one service is left out, and said', async (t) => {
  const { ports, look } = await stage(t)
  const responder = await startMdnsResponder(t, ports.discovery)
  const { services, told } = await look('discovery', '_a._tcp')
  await until(
    'the bound',
    async () => {
      for (let at = 0; at < instanceLimit + 20; at += 1) {
        responder.announce({ type: '_a._tcp', name: `n${at}`, host: 'same.local' })
        if (at % 20 === 0) await quiet()
      }
      return services.size >= instanceLimit && told.at(-1)?.startsWith('warning') === true
    },
    patience,
  )
  assert.equal(services.size, instanceLimit)
  assert.deepEqual(
    told.filter((line) => line.startsWith('warning')),
    [`warning: more than ${instanceLimit} of _a._tcp are on the network: the others are left out`],
  )
})
