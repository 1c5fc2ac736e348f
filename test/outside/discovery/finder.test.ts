import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { createFinder, type FinderContext } from '../../../src/outside/discovery/finder.ts'
import type { FoundService } from '../../../src/schema/outside/discovery.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { testNetwork } from '../../helpers/multicast-responders.ts'

const group = '224.0.0.251'
const flooded = 'more is said on the network than can be listened to: some of it is left out'

const service = (name: string, port: number): FoundService => ({
  ...{ name, port, host: `${name}.local`, addresses: ['192.0.2.1'], txt: [] },
})

/** A finder on the loopback network whose protocol is the test's: to hear a message takes five milliseconds. */
async function stage(t: TestContext) {
  const { ports, networks } = await testNetwork()
  const port = ports.discovery
  const sender = createSocket('udp4')
  sender.bind(0, '127.0.0.1')
  await once(sender, 'listening')
  sender.setMulticastInterface('127.0.0.1')
  const clock = createManualClock()
  const sockets: Socket[] = []
  let come = 0
  const note = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    sockets.push(socket)
    socket.on('message', () => {
      come += 1
    })
  }
  subscribe('udp.socket', note)
  const heard: string[] = []
  const asked: string[] = []
  let doubts = 0
  let context: FinderContext | undefined
  const finder = createFinder({
    ...{ clock, networks, place: { groups: { IPv4: group, IPv6: 'ff02::fb' }, port, answersTo: 'group' } },
    protocol(given) {
      context = given
      return {
        longestPause: 4_000,
        ask: (wanted) => asked.push(wanted),
        heard(message) {
          heard.push(message.toString())
          clock.pause(5)
        },
        forget: () => undefined,
        doubt() {
          doubts += 1
        },
      }
    },
  })
  assert.ok(context)
  const stops: (() => void)[] = []
  t.after(() => {
    for (const stop of stops) stop()
    unsubscribe('udp.socket', note)
    sender.close()
    assert.equal(clock.waiting, 0, 'nothing is left when nobody looks')
  })

  /** Looks for it; resolves when the network is listened to. */
  async function look(wanted: string): Promise<string[]> {
    const told: string[] = []
    await new Promise<void>((resolve, reject) => {
      const stop = finder.watch(wanted, {
        ready() {
          told.push('ready')
          resolve()
        },
        tell: (key, found) => told.push(found === undefined ? `-${key}` : `${key}:${found.port}`),
        failed: (reason) => reject(new Error(reason)),
        warn: (message) => told.push(message),
      })
      stops.push(stop)
    })
    return told
  }

  /** So many messages are said, and have come, if anybody listens. */
  async function say(count: number): Promise<void> {
    // As many at a time as a socket reads in one turn.
    for (let left = count; left > 0; left -= 30) {
      const wanted = come + Math.min(30, left)
      for (let next = come + 1; next <= wanted; next += 1) sender.send(`${next}`, port, group)
      while (come < wanted && sockets.some(isBound)) await turn()
    }
    await turn()
  }

  return {
    ...{ clock, context, finder, heard, asked, sockets, look, say, isOpen: () => sockets.some(isBound) },
    doubts: () => doubts,
    /** Says it to this machine alone. */
    whisper: (text: string) => sender.send(text, port, '127.0.0.1'),
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function isBound(socket: Socket): boolean {
  try {
    return socket.address().port !== 0
  } catch {
    return false
  }
}

test('strangers get five milliseconds at one go, and the next message has to wait', async (t) => {
  const { clock, heard, look, say } = await stage(t)
  await look('a')
  await say(3)
  assert.deepEqual(heard, ['1'])
  clock.advance(19)
  assert.deepEqual(heard, ['1'])
  clock.advance(1)
  assert.deepEqual(heard, ['1', '2'])
  clock.advance(20)
  assert.deepEqual(heard, ['1', '2', '3'])
})

test('of a flood a hundred messages wait; after five hundred that were left out nothing is heard for a second', async (t) => {
  const { clock, heard, asked, look, say, isOpen, doubts } = await stage(t)
  const told = await look('a')
  await say(101)
  assert.deepEqual([heard.length, told], [1, ['ready']])
  await say(1)
  assert.deepEqual(told, ['ready', flooded])
  await say(498)
  assert.equal(isOpen(), true)
  await say(1)
  assert.equal(isOpen(), false)
  clock.advance(999)
  await turn()
  assert.deepEqual([isOpen(), heard], [false, ['1']], 'what waited is forgotten')
  asked.splice(0)
  clock.advance(1)
  while (!isOpen()) await turn()
  clock.advance(1_000)
  assert.deepEqual(asked, ['a'])
  await say(1)
  assert.deepEqual([heard.length, told], [2, ['ready', flooded]])
  assert.equal(doubts(), 0, 'what was found is believed all the same')
})

test('messages that were left out before the last look at the networks count no more', async (t) => {
  const { clock, sockets, look, say, isOpen } = await stage(t)
  await look('a')
  // Of the hundred that wait some are left out, too: the time of strangers is used up.
  await say(101 + 390)
  clock.advance(10_000)
  await say(101 + 390)
  assert.deepEqual([isOpen(), sockets.length], [true, 1])
})

test('strangers get a tenth of the time: what is more is left out, and said once a minute', async (t) => {
  const { clock, heard, look, say } = await stage(t)
  const told = await look('a')
  /** How many of sixty are heard when strangers have been silent for long: each takes 5 ms of 25, of which they get back 2.5. */
  async function heardOfSixty(): Promise<number> {
    const before = heard.length
    await say(60)
    for (let round = 0; round < 60; round += 1) clock.advance(25)
    return heard.length - before
  }
  assert.equal(await heardOfSixty(), 40)
  assert.deepEqual(told.splice(0), ['ready', flooded])
  clock.advance(30_000)
  assert.equal(await heardOfSixty(), 40)
  assert.deepEqual(told, [])
  clock.advance(30_000)
  assert.equal(await heardOfSixty(), 40)
  assert.deepEqual(told, [flooded])
})

test('what cannot be sent is told to all who look, once a minute', async (t) => {
  const { clock, context, look } = await stage(t)
  const both = [await look('a'), await look('b')]
  const send = async (bytes = 70_000): Promise<void> => {
    context.send(() => Buffer.alloc(bytes))
    await turn()
    await turn()
  }
  await send(1)
  assert.deepEqual(both, [['ready'], ['ready']])
  await send()
  await send()
  for (const told of both) {
    assert.equal(told.length, 2)
    assert.match(told[1] ?? '', /^nothing can be sent: .*EMSGSIZE/)
  }
  clock.advance(60_000)
  await send()
  assert.deepEqual(
    both.map(({ length }) => length),
    [3, 3],
  )
})

test('who looks for what others look for already is told what is there now, and it is asked for again', async (t) => {
  const { clock, context, asked, look } = await stage(t)
  const first = await look('a')
  clock.advance(0)
  assert.deepEqual(asked.splice(0), ['a'])
  for (const pause of [1_000, 2_000, 4_000, 4_000]) {
    clock.advance(pause - 1)
    assert.deepEqual(asked.splice(0), [])
    clock.advance(1)
    assert.deepEqual(asked.splice(0), ['a'])
  }
  context.set('a', 'lasting', service('lasting', 80))
  context.set('a', 'gone', service('gone', 81))
  context.set('a', 'gone', undefined)
  context.set('b', 'other', service('other', 82))
  context.warn('b', 'nobody looks for it')
  const second = await look('a')
  await turn()
  assert.deepEqual(first, ['ready', 'lasting:80', 'gone:81', '-gone'])
  assert.deepEqual(second, ['ready', 'lasting:80'])
  clock.advance(1_000)
  assert.deepEqual(asked, ['a'])
})

test('what is said to this machine alone, as others than its neighbours can, is not heard', async (t) => {
  const { heard, look, say, whisper } = await stage(t)
  await look('a')
  whisper('from afar')
  await say(1)
  assert.deepEqual(heard, ['1'])
})

const unexpected = (): void => assert.fail('nobody is told any more')
const deaf = { ready: unexpected, tell: unexpected, failed: unexpected, warn: unexpected }

test('who looks no more a moment later is told nothing, and it is not asked for', async (t) => {
  const { clock, finder, asked, look } = await stage(t)
  await look('a')
  finder.watch('b', deaf)()
  await turn()
  clock.advance(1_000)
  assert.deepEqual(asked, ['a', 'a'])
})

test('who says twice to look no more ends nothing that others have begun meanwhile', async (t) => {
  const { clock, context, finder, look } = await stage(t)
  await look('a')
  const stop = finder.watch('b', deaf)
  stop()
  const told = await look('b')
  stop()
  clock.advance(1_000)
  context.set('b', 'one', service('one', 80))
  assert.deepEqual(told, ['ready', 'one:80'])
})

test('a search that ends before the network is listened to leaves nothing open', async (t) => {
  const { clock, finder, sockets, isOpen } = await stage(t)
  finder.watch('a', deaf)()
  assert.deepEqual([sockets.length, isOpen()], [1, true])
  await turn()
  assert.deepEqual([isOpen(), clock.waiting], [false, 0])
})
