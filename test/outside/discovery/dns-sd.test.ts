import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, decode, encode } from 'dns-packet'
import { createDnsSd, instanceLimit } from '../../../src/outside/discovery/dns-sd.ts'
import { doubtTime } from '../../../src/outside/discovery/lease.ts'
import type { FoundService } from '../../../src/schema/outside/discovery.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** DNS-SD without sockets. */
function stage() {
  const clock = createManualClock()
  /** The questions of each message, such as `PTR _a._tcp.local`. */
  const sent: string[][] = []
  /** `service name:port`, and `service -name` when it goes. */
  const told: string[] = []
  const services = new Map<string, FoundService>()
  const dns = createDnsSd({
    clock,
    send(compose) {
      const { questions = [] } = decode(Buffer.from(compose('IPv4')))
      sent.push(questions.map(({ type, name }) => `${type} ${name}`))
    },
    set(wanted, name, service) {
      told.push(service === undefined ? `${wanted} -${name}` : `${wanted} ${name}:${service.port}`)
      if (service !== undefined) services.set(name, service)
    },
    warn: (_wanted, message) => told.push(message),
  })
  return {
    ...{ clock, sent, told, services, dns },
    /** What was asked for since the last time, sorted. */
    asked: () => sent.splice(0).flat().sort(),
    hear: (...answers: Answer[]) =>
      dns.heard(encode({ type: 'response', answers }), {
        address: '192.0.2.1',
        family: 'IPv4',
        port: 5353,
        size: 0,
      }),
  }
}

const pointer = (name = 'one', ttl = 4_500, service = '_a._tcp'): Answer => ({
  ...{
    type: 'PTR',
    name: `${service}.local`,
    ttl,
    data: `${name}.${service.replace(/^.*_sub\./, '')}.local`,
  },
})
const target = (name = 'one', ttl = 4_500, port = 80): Answer => ({
  ...{ type: 'SRV', name: `${name}._a._tcp.local`, ttl, data: { target: 'h.local', port } },
})
const texts = (name = 'one', ttl = 4_500, text = 'a=b'): Answer => ({
  ...{ type: 'TXT', name: `${name}._a._tcp.local`, ttl, data: [text] },
})
const address = (ttl = 4_500): Answer => ({ type: 'A', name: 'h.local', ttl, data: '192.0.2.7' })

test('questions go out together and soon, and a tenth of a second after those before', () => {
  const { clock, sent, dns } = stage()
  dns.ask('_a._tcp')
  dns.ask('_b._tcp')
  clock.advance(19)
  assert.equal(sent.length, 0)
  clock.advance(1)
  dns.ask('_c._tcp')
  dns.ask('_c._tcp')
  clock.advance(99)
  assert.deepEqual(sent, [['PTR _a._tcp.local', 'PTR _b._tcp.local']])
  clock.advance(1)
  assert.deepEqual(sent.slice(1), [['PTR _c._tcp.local']])
})

test('many services of one kind keep none of another from being found', () => {
  const { told, dns, hear } = stage()
  dns.ask('_a._tcp')
  dns.ask('_b._tcp')
  for (let at = 0; at < instanceLimit; at += 1) hear(pointer(`n${at}`, 4_500, '_b._tcp'))
  hear(pointer(), target(), texts(), address())
  assert.deepEqual(told, ['_a._tcp one:80'])
})

test('of as many services as may be known each is believed for longer when it says so again', () => {
  const { clock, told, dns, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer('one', 100), target(), texts(), address())
  for (let at = 1; at < instanceLimit; at += 1) hear(pointer(`n${at}`))
  clock.advance(90_000)
  hear(pointer('one', 100))
  clock.advance(90_000)
  assert.deepEqual(told, ['_a._tcp one:80'])
})

test('of many questions at once three hundred are asked', () => {
  const { clock, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  clock.advance(20)
  asked()
  hear(...Array.from({ length: 200 }, (_, at) => pointer(`n${at}`)))
  clock.advance(100)
  assert.equal(asked().length, 300)
})

test('what is missing is asked for six times, less and less often, and anew when the service is told again later', () => {
  const { clock, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  clock.advance(20)
  asked()
  hear(pointer())
  const both = ['SRV one._a._tcp.local', 'TXT one._a._tcp.local']
  for (const pause of [100, 1_000, 2_000, 4_000, 8_000, 16_000]) {
    clock.advance(pause)
    assert.deepEqual(asked(), both)
    // It does not begin anew as long as that is not over.
    hear(pointer())
  }
  clock.advance(30_000)
  hear(pointer())
  clock.advance(1_000)
  assert.deepEqual(asked(), [])
  clock.advance(10_000)
  hear(pointer())
  clock.advance(100)
  assert.deepEqual(asked(), both)
  hear(target())
  clock.advance(1_000)
  assert.deepEqual(asked(), ['A h.local', 'AAAA h.local', 'TXT one._a._tcp.local'])
  hear(address())
  clock.advance(2_000)
  assert.deepEqual(asked(), ['TXT one._a._tcp.local'])
  hear(texts())
  clock.advance(60_000)
  assert.deepEqual(asked(), [])
})

test('what would have ended while the host was paused is asked for, and is gone only if it is not said again', () => {
  const { clock, told, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target('one', 120), texts(), address(120))
  clock.advance(20)
  asked()
  for (const isSaidAgain of [true, false]) {
    clock.pause(200_000)
    clock.advance(0)
    clock.advance(100)
    assert.deepEqual(asked(), ['A h.local', 'SRV one._a._tcp.local'])
    if (isSaidAgain) hear(target('one', 120), address(120))
    clock.advance(doubtTime - 101)
    assert.deepEqual(told, ['_a._tcp one:80'])
  }
  clock.advance(1)
  assert.deepEqual(told, ['_a._tcp one:80', '_a._tcp -one'])
})

test('what is no service of those that are looked for, or says goodbye unknown, is not asked about', () => {
  const { clock, told, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  clock.advance(20)
  asked()
  hear(
    pointer('one', 0),
    pointer('one', 4_500, '_b._tcp'),
    { type: 'PTR', name: '_a._tcp', ttl: 10, data: 'one._a._tcp.local' },
    { type: 'PTR', name: '_a._tcp.local', ttl: 10, data: 'one._b._tcp.local' },
    { type: 'PTR', name: '_a._tcp.local', ttl: 10, data: '_a._tcp.local' },
    { type: 'PTR', name: '_a._tcp.local', ttl: 10, data: 'o\tne._a._tcp.local' },
    // A name of a service has one label, of 63 bytes at most.
    pointer(`${'a'.repeat(40)}.${'a'.repeat(40)}`),
    target(),
    texts(),
    address(),
  )
  clock.advance(60_000)
  assert.deepEqual([asked().length, told.length, clock.waiting], [0, 0, 0])
})

test('names count in any case, and are told as they were said first since they were there', () => {
  const { clock, told, dns, hear } = stage()
  dns.ask('_a._tcp')
  hear(
    { type: 'PTR', name: '_A._tcp.LOCAL', ttl: 100, data: 'One._a._TCP.local' },
    { type: 'SRV', name: 'ONE._a._tcp.local', ttl: 100, data: { target: 'H.local', port: 80 } },
    { type: 'TXT', name: 'one._a._tcp.Local', ttl: 100, data: [] },
    { type: 'A', name: 'h.LOCAL', ttl: 100, data: '192.0.2.7' },
  )
  hear(pointer('oNe'), target('onE', 100, 81))
  assert.deepEqual(told.splice(0), ['_a._tcp One:80', '_a._tcp One:81'])
  hear(pointer('one', 0))
  clock.advance(1_000)
  hear(pointer('oNe'), target(), texts(), address())
  assert.deepEqual(told, ['_a._tcp -One', '_a._tcp oNe:80'])
})

test('a service is told without its texts a second after it has an address, and again when they come', () => {
  const { clock, told, services, dns, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target())
  clock.advance(5_000)
  hear(address())
  clock.advance(999)
  assert.equal(told.length, 0)
  clock.advance(1)
  assert.deepEqual(told, ['_a._tcp one:80'])
  assert.deepEqual(services.get('one')?.txt, [])
  hear(texts())
  assert.deepEqual(services.get('one')?.txt, [['a', 'b']])
  hear(texts('one', 4_500, 'a=c'), pointer(), target(), address())
  assert.deepEqual(services.get('one')?.txt, [['a', 'c']])
  assert.equal(told.length, 3)
})

test('who has no address any more is told only with its texts again, if they come within a second', () => {
  const { clock, told, dns, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target(), address())
  clock.advance(1_000)
  hear(target('one', 0))
  clock.advance(1_000)
  hear(target(), address())
  clock.advance(999)
  assert.deepEqual(told, ['_a._tcp one:80', '_a._tcp -one'])
  clock.advance(1)
  assert.equal(told.at(-1), '_a._tcp one:80')
})

test('what was told again and again is asked for when it goes, and what is known is not', () => {
  const { clock, told, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  clock.advance(20)
  // Its farewell may come before anything else is known.
  hear(pointer(), target('one', 0), texts())
  asked()
  clock.advance(100)
  assert.deepEqual(asked(), ['SRV one._a._tcp.local'])
  hear(target())
  clock.advance(1_000)
  assert.deepEqual(asked(), ['A h.local', 'AAAA h.local'])
  // As long as a name may be.
  const longest = 'a'.repeat(63)
  hear(pointer(longest), texts(longest))
  clock.advance(100)
  assert.deepEqual(asked(), [`SRV ${longest}._a._tcp.local`])
  hear(pointer(longest, 0))
  clock.advance(2_000)
  asked()
  for (let minute = 0; minute < 10; minute += 1) {
    hear(pointer(), target(), texts(), address())
    clock.advance(60_000)
  }
  assert.deepEqual([told, asked()], [['_a._tcp one:80'], []])
  hear(target('one', 0))
  clock.advance(1_100)
  assert.deepEqual(asked(), ['SRV one._a._tcp.local'])
})

test('texts that say goodbye stay, and so does a place that is told again within a second', () => {
  const { clock, told, services, dns, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target(), texts(), address())
  hear(texts('one', 0))
  clock.advance(5_000)
  hear(target('one', 0))
  clock.advance(999)
  hear(target())
  clock.advance(5_000)
  assert.deepEqual([told, services.get('one')?.txt], [['_a._tcp one:80'], [['a', 'b']]])
  hear(target('one', 0))
  clock.advance(1_000)
  assert.deepEqual(told, ['_a._tcp one:80', '_a._tcp -one'])
  // It has still been said to be there.
  hear(target('one', 4_500, 81), address())
  assert.equal(told.at(-1), '_a._tcp one:81')
})

for (const [what, records, question] of [
  ['service', [pointer('one', 100), target(), texts(), address()], ['PTR _a._tcp.local']],
  ['place', [pointer(), target('one', 100), texts(), address()], ['SRV one._a._tcp.local']],
  ['texts', [pointer(), target(), texts('one', 100), address()], ['TXT one._a._tcp.local']],
  ['address', [pointer(), target(), texts(), address(100)], ['A h.local']],
] as const)
  test(`the ${what} of what was found: asked for when four fifths and nine tenths of its time are over`, () => {
    const { clock, told, services, dns, asked, hear } = stage()
    dns.ask('_a._tcp')
    clock.advance(20)
    hear(...records)
    asked()
    clock.advance(79_990)
    assert.deepEqual(asked(), [])
    clock.advance(110)
    assert.deepEqual(asked(), question)
    clock.advance(10_000)
    assert.deepEqual(asked(), question)
    hear(...records)
    clock.advance(20_000)
    assert.deepEqual([told, asked()], [['_a._tcp one:80'], []])
    clock.advance(80_000)
    if (what === 'texts') assert.deepEqual(services.get('one')?.txt, [])
    else assert.deepEqual(told, ['_a._tcp one:80', '_a._tcp -one'])
  })

test('who is of two kinds that are looked for is told to both, and goes for each by itself', () => {
  const { clock, told, dns, hear } = stage()
  const sub = '_p._sub._a._tcp'
  dns.ask('_a._tcp')
  dns.ask(sub)
  hear(pointer(), pointer('one', 4_500, sub), target(), texts(), address())
  assert.deepEqual(told.splice(0), ['_a._tcp one:80', `${sub} one:80`])
  hear(pointer('one', 0, sub))
  clock.advance(1_000)
  assert.deepEqual(told.splice(0), [`${sub} -one`])
  hear(pointer('one', 4_500, sub))
  assert.deepEqual(told.splice(0), [`${sub} one:80`])
  dns.forget('_a._tcp')
  hear(target('one', 4_500, 81))
  assert.deepEqual(told.splice(0), [`${sub} one:81`])
  dns.ask('_a._tcp')
  hear(pointer())
  assert.deepEqual(told, ['_a._tcp one:81'])
})

test('nothing is known or asked any more when nobody looks', () => {
  const { clock, told, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target(), texts(), address())
  dns.ask('_a._tcp')
  dns.forget('_a._tcp')
  assert.equal(clock.waiting, 0)
  dns.ask('_b._tcp')
  clock.advance(20)
  assert.deepEqual(asked(), ['PTR _b._tcp.local'])
  dns.ask('_a._tcp')
  hear(pointer(), target(), texts())
  clock.advance(5_000)
  assert.deepEqual(told, ['_a._tcp one:80'])
})

test('after a change of the networks what was found is asked for, and goes when nothing is heard of it', () => {
  const { clock, told, dns, asked, hear } = stage()
  dns.ask('_a._tcp')
  hear(pointer(), target(), texts(), address())
  clock.advance(20)
  asked()
  dns.doubt()
  clock.advance(200)
  const all = ['A h.local', 'PTR _a._tcp.local', 'SRV one._a._tcp.local', 'TXT one._a._tcp.local']
  assert.deepEqual(asked(), all)
  hear(pointer(), target(), texts(), address())
  clock.advance(60_000)
  assert.deepEqual(told, ['_a._tcp one:80'])
  dns.doubt()
  clock.advance(10_000)
  assert.deepEqual(told, ['_a._tcp one:80', '_a._tcp -one'])
})
