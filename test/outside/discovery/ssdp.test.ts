import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doubtTime } from '../../../src/outside/discovery/lease.ts'
import { createSsdp, sourceLimit, ssdpPlace, thingLimit } from '../../../src/outside/discovery/ssdp.ts'
import type { FoundService } from '../../../src/schema/outside/discovery.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** SSDP without sockets: what is heard comes from whatever address. */
function stage() {
  const clock = createManualClock()
  const searches: string[] = []
  const warnings: string[] = []
  /** Name of each thing with what was told of it, undefined: it has gone. */
  const told: [name: string, service: FoundService | undefined][] = []
  const ssdp = createSsdp(
    {
      clock,
      send: (compose) =>
        searches.push(/^ST: (.*)\r$/m.exec(Buffer.from(compose('IPv4')).toString())?.[1] ?? ''),
      set: (_target, name, service) => told.push([name, service]),
      warn: (_target, message) => warnings.push(message),
    },
    ssdpPlace,
  )
  const say = (address: string, ...lines: string[]): void =>
    ssdp.heard(Buffer.from([...lines, '', ''].join('\r\n')), { address, family: 'IPv4', port: 1900, size: 0 })
  return {
    ...{ clock, searches, warnings, told, ssdp },
    notify: (subject: string, name: string, address = '192.0.2.1', ...more: string[]) =>
      say(address, 'NOTIFY * HTTP/1.1', 'NT: x', `NTS: ssdp:${subject}`, `USN: ${name}`, ...more),
    answer: (name: string, address: string, ...more: string[]) =>
      say(address, 'HTTP/1.1 200 OK', 'ST: x', `USN: ${name}`, ...more),
  }
}

test('things that lapse one after another are asked for with one search a second', () => {
  const { clock, searches, ssdp, notify } = stage()
  ssdp.ask('x')
  for (let at = 0; at < 20; at += 1) {
    notify('alive', `uuid:${at}`, '192.0.2.1', 'CACHE-CONTROL: max-age=100')
    clock.advance(100)
  }
  clock.advance(77_900)
  assert.deepEqual(searches, ['x'])
  clock.advance(2_100)
  assert.deepEqual(searches, ['x', 'x', 'x'])
  // Once more when nine tenths are over, and no more when all is.
  clock.advance(25_000)
  assert.equal(searches.length, 5)
})

test('more things of one target than a bound are left out, and said; those that are known may change', () => {
  const { told, warnings, ssdp, notify } = stage()
  ssdp.ask('x')
  for (let at = 0; at < thingLimit; at += 1) notify('alive', `uuid:${at}`)
  assert.deepEqual([told.length, warnings.length], [thingLimit, 0])
  notify('alive', 'uuid:more')
  notify('alive', 'uuid:0', '192.0.2.1', 'LOCATION: http://192.0.2.1:81/')
  assert.deepEqual(
    told.slice(thingLimit).map(([name, service]) => [name, service?.port]),
    [['uuid:0', 81]],
  )
  assert.deepEqual(warnings, [`more than ${thingLimit} of x are on the network: the others are left out`])
  notify('byebye', 'uuid:7')
  notify('alive', 'uuid:more')
  assert.equal(told.at(-1)?.[0], 'uuid:more')
})

test('what has lapsed leaves its place to others', () => {
  const { clock, told, warnings, ssdp, notify } = stage()
  ssdp.ask('x')
  for (let at = 0; at < thingLimit; at += 1)
    notify('alive', `uuid:${at}`, '192.0.2.1', 'CACHE-CONTROL: max-age=100')
  clock.advance(100_000)
  notify('alive', 'uuid:more')
  assert.equal(told.at(-1)?.[1]?.name, 'uuid:more')
  assert.deepEqual(warnings, [])
})

test('what would have lapsed while the host was paused is asked for, and is gone only if it is not said again', () => {
  const { clock, searches, told, ssdp, notify } = stage()
  ssdp.ask('x')
  notify('alive', 'uuid:1', '192.0.2.1', 'CACHE-CONTROL: max-age=100')
  clock.pause(200_000)
  clock.advance(0)
  assert.deepEqual(searches, ['x', 'x'])
  notify('alive', 'uuid:1', '192.0.2.1', 'CACHE-CONTROL: max-age=100')
  clock.advance(doubtTime)
  clock.pause(200_000)
  clock.advance(0)
  clock.advance(doubtTime - 1)
  assert.deepEqual([searches.length, told.length], [3, 1])
  clock.advance(1)
  assert.deepEqual(told.at(-1), ['uuid:1', undefined])
})

test('a thing that speaks from more addresses than a bound keeps the first ones, which may change', () => {
  const { told, ssdp, notify } = stage()
  ssdp.ask('x')
  const addresses = Array.from({ length: sourceLimit + 1 }, (_, at) => `192.0.2.${at}`)
  for (const address of addresses) notify('alive', 'uuid:1', address)
  notify('alive', 'uuid:1', '192.0.2.0', 'LOCATION: http://192.0.2.0:81/')
  const [, last] = told.at(-1) ?? []
  assert.deepEqual(last?.addresses, addresses.slice(0, sourceLimit))
  assert.equal(last?.port, 81)
})

test('an answer that says less than an announcement, or the same in another order, changes nothing', () => {
  const { told, ssdp, notify, answer } = stage()
  ssdp.ask('x')
  notify('alive', 'uuid:1', '192.0.2.1', 'SERVER: s', 'X-B: b', 'X-A: a')
  answer('uuid:1', '192.0.2.1', 'X-A: a', 'SERVER: s')
  answer('uuid:1', '192.0.2.1', 'X-B: b')
  assert.deepEqual(told, [
    [
      'uuid:1',
      {
        ...{ name: 'uuid:1', host: '192.0.2.1', addresses: ['192.0.2.1'] },
        txt: [
          ['server', 's'],
          ['usn', 'uuid:1'],
          ['x-a', 'a'],
          ['x-b', 'b'],
          ['st', 'x'],
        ],
      },
    ],
  ])
})

test('of a thing that says something else each time as much is kept as of one message', () => {
  const { told, ssdp, notify } = stage()
  ssdp.ask('x')
  for (let at = 0; at < 100; at += 1) notify('alive', 'uuid:1', '192.0.2.1', `A${at}: ${'x'.repeat(4_000)}`)
  for (let at = 0; at < 100; at += 1) notify('alive', 'uuid:2', '192.0.2.1', `A${at}: x`)
  const [large, many] = ['uuid:1', 'uuid:2'].map(
    (name) => told.findLast(([key]) => key === name)?.[1]?.txt ?? [],
  )
  assert.ok(large && many)
  const bytes = large.flat().reduce((sum, text) => sum + text.length, 0)
  // With `st` and its value, which is told as well.
  assert.ok(bytes > 4_000 && bytes <= 4_096 + 'stx'.length, `${bytes}`)
  assert.deepEqual([large.some(([name]) => name === 'a99'), many.length], [true, 40 + 1])
})

test('the farewell of a thing that nobody knows is told to nobody', () => {
  const { told, ssdp, notify } = stage()
  ssdp.ask('x')
  notify('byebye', 'uuid:1')
  assert.equal(told.length, 0)
  notify('alive', 'uuid:1')
  notify('byebye', 'uuid:1')
  notify('byebye', 'uuid:1')
  assert.deepEqual(
    told.map(([, service]) => service?.name),
    ['uuid:1', undefined],
  )
})

test('what is looked for again is told again, and what was not said again since the networks changed goes', () => {
  const { clock, told, ssdp, notify } = stage()
  ssdp.ask('x')
  notify('alive', 'uuid:1')
  ssdp.forget('x')
  notify('alive', 'uuid:1')
  ssdp.ask('x')
  notify('alive', 'uuid:1')
  notify('alive', 'uuid:2')
  ssdp.doubt()
  clock.advance(doubtTime - 1)
  notify('alive', 'uuid:2')
  clock.advance(1)
  const lines = told.map(([name, service]) => (service === undefined ? `-${name}` : name))
  assert.deepEqual(lines, ['uuid:1', 'uuid:1', 'uuid:2', '-uuid:1'])
})

test('a thing that has moved is at its new address alone, one that is on two networks at both', () => {
  const { clock, told, searches, ssdp, notify, answer } = stage()
  const places = (): (string | undefined)[][] =>
    told.splice(0).map(([, service]) => [service?.host, ...(service?.addresses ?? [])])
  ssdp.ask('x')
  notify('alive', 'uuid:1', '192.0.2.1', 'LOCATION: http://192.0.2.1/')
  clock.advance(600_000)
  notify('alive', 'uuid:1', '192.0.2.2', 'LOCATION: http://192.0.2.2/')
  clock.advance(1_000)
  assert.deepEqual(searches, ['x', 'x'])
  answer('uuid:1', '192.0.2.2', 'LOCATION: http://192.0.2.2/')
  clock.advance(doubtTime)
  assert.deepEqual(places(), [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
    ['192.0.2.2', '192.0.2.2'],
  ])
  notify('alive', 'uuid:1', '198.51.100.1', 'LOCATION: http://198.51.100.1/')
  clock.advance(1_000)
  for (const address of ['198.51.100.1', '192.0.2.2'])
    answer('uuid:1', address, `LOCATION: http://${address}/`)
  clock.advance(60_000)
  assert.deepEqual(places(), [['192.0.2.2', '192.0.2.2', '198.51.100.1']])
})
