import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  connectBytesLimits,
  packetBytesLimit,
  subscriptionsPerClientLimit,
} from '../../src/bus/broker-limits.ts'
import { createGuessLimit, wrongTriesAllowed } from '../../src/base/network/guess-limit.ts'
import { topicLevelsLimit } from '../../src/base/topic-filter.ts'
import type { EmbeddedBusSettings } from '../../src/bus/embedded/embedded-bus.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { collect, connect, connectListening, lines, startBothWays, startBus, ways } from './bus-fixture.ts'
import { connectPacket, connectRaw, idIn, openRaw, subscribePacket, unsubscribePacket } from './raw-client.ts'

/** Each limit of the built-in broker for its clients, over TCP and over WebSocket. */

const raw = { id: 'raw', clean: true }
const pingPacket = Buffer.from([0xc0, 0])

for (const way of ways) {
  test(`over ${way}: only so many connections at a time, and room again when one has gone`, async (context) => {
    const { bus, urls } = await startBothWays(context, { limits: { connections: 2 } })
    const first = await connect(context, urls[way])
    await connect(context, urls.TCP)
    await assert.rejects(connect(context, urls[way]))
    await first.endAsync()
    // The broker hears of the end a little later.
    for (let attempt = 0; ; attempt += 1) {
      const again = await connect(context, urls[way]).catch((error: unknown) => {
        if (attempt > 200) throw error
      })
      if (again !== undefined) break
    }
    assert.ok(bus.clients <= 2)
  })

  test(`over ${way}: when all places are taken, who has been silent the longest after connecting makes room`, async (context) => {
    const { bus, urls } = await startBothWays(context, { limits: { connections: 3 } })
    await connect(context, urls[way])
    const first = await openRaw(context, urls[way])
    const second = await openRaw(context, urls[way])
    await connect(context, urls.TCP)
    await first.ended
    second.send(connectPacket(raw))
    await second.expect('connack')
    await assert.rejects(connect(context, urls[way]))
    assert.equal(bus.clients, 3)
  })

  test(`over ${way}: who has gone without a word is not the one that makes room`, async (context) => {
    const { bus, urls } = await startBothWays(context, { limits: { connections: 2 } })
    const gone = await openRaw(context, urls[way])
    gone.socket.end()
    await gone.ended
    const silent = await openRaw(context, urls[way])
    await connect(context, urls.TCP)
    await connect(context, urls[way])
    await silent.ended
    assert.equal(bus.clients, 2)
  })

  test(`over ${way}: nobody makes room for an address that is cut off`, async (context) => {
    const guesses = createGuessLimit({ clock: createManualClock(), warn: () => undefined })
    const { urls } = await startBothWays(context, { guesses, limits: { connections: 2 } })
    const silent = await openRaw(context, urls[way])
    await connect(context, urls.TCP)
    for (let tries = 0; tries < wrongTriesAllowed; tries += 1) guesses.recordWrong('127.0.0.1')
    assert.ok(guesses.cutOffLeft('127.0.0.1') > 0)
    await assert.rejects(connect(context, urls[way]))
    silent.send(connectPacket(raw))
    await silent.expect('connack')
  })

  test(`over ${way}: one address takes only its share, this machine may take all`, async (context) => {
    const strict = await startBothWays(context, {
      limits: { connectionsPerAddress: 1, isOwnAddress: () => false },
    })
    await connect(context, strict.urls[way])
    for (const other of ways) await assert.rejects(connect(context, strict.urls[other]))
    const own = await startBothWays(context, { limits: { connectionsPerAddress: 1 } })
    await connect(context, own.urls[way])
    await connect(context, own.urls[way])
  })

  test(`over ${way}: who says nothing after connecting is cut off`, async (context) => {
    const { urls } = await startBothWays(context, { limits: { connectTimeout: 50 } })
    const silent = await openRaw(context, urls[way])
    await silent.ended
  })

  test(`over ${way}: who breaks its promise to keep alive is cut off`, async (context) => {
    const { urls } = await startBothWays(context)
    const silent = await openRaw(context, urls[way])
    silent.send(connectPacket({ ...raw, keepalive: 1 }))
    await silent.ended
  })

  test(`over ${way}: who has kept it while the host stood still stays, until it is silent`, async (context) => {
    const { urls } = await startBothWays(context)
    const client = await openRaw(context, urls[way])
    client.send(connectPacket({ ...raw, keepalive: 1 }))
    await client.expect('connack')
    // It is ready a moment after that.
    client.send(pingPacket)
    await client.expect('pingresp')
    client.send(pingPacket)
    // Nothing at all goes on in this process meanwhile, as in one that is paused: only the time does.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600)
    await client.expect('pingresp')
    assert.equal(client.hasEnded(), false)
    await client.ended
  })

  test(`over ${way}: a packet that is too large cuts its sender off before it is there, and nobody else`, async (context) => {
    const { urls } = await startBothWays(context)
    const other = await connect(context, urls.TCP)
    const heard = collect(other)
    await other.subscribeAsync('after')
    const sender = await openRaw(context, urls[way])
    sender.send(connectPacket(raw))
    const length = packetBytesLimit + 1
    const digits = [
      (length & 0x7f) | 0x80,
      ((length >> 7) & 0x7f) | 0x80,
      ((length >> 14) & 0x7f) | 0x80,
      length >> 21,
    ]
    sender.send(Buffer.from([0x30, ...digits, 0, 1, 0x61]))
    await sender.ended
    await other.publishAsync('after', 'x')
    assert.deepEqual(lines(await heard.take(1)), ['after x'])
  })

  test(`over ${way}: a client has only so many subscriptions; what it has goes on`, async (context) => {
    const { urls } = await startBothWays(context)
    const client = await connect(context, urls[way])
    const filters = Array.from({ length: subscriptionsPerClientLimit }, (_, index) => `t/${index}`)
    const granted = await client.subscribeAsync(filters)
    assert.ok(granted.every(({ qos }) => qos === 0))
    await assert.rejects(client.subscribeAsync('one/more'), /Unspecified error|128/i)
    const heard = collect(client)
    await client.publishAsync('t/7', 'still')
    assert.deepEqual(lines(await heard.take(1)), ['t/7 still'])
  })

  test(`over ${way}: a packet with more filters than a client may have cuts its sender off, and nobody else`, async (context) => {
    const { urls } = await startBothWays(context)
    const other = await connect(context, urls.TCP)
    const heard = collect(other)
    await other.subscribeAsync('after')
    const filters = Array.from({ length: subscriptionsPerClientLimit + 1 }, (_, index) => `t/${index}`)
    const [last = ''] = filters.splice(-1)
    for (const excessive of [
      subscribePacket(2, ...[...filters, last].map((filter): [string, number] => [filter, 0])),
      unsubscribePacket(2, ...filters, last),
    ]) {
      const sender = await connectRaw(context, urls[way], raw)
      sender.send(unsubscribePacket(1, ...filters))
      assert.equal(idIn(await sender.expect('unsuback')), 1)
      sender.send(excessive)
      await sender.ended
    }
    await other.publishAsync('after', 'x')
    assert.deepEqual(lines(await heard.take(1)), ['after x'])
  })

  test(`over ${way}: a client has as many subscriptions as Home Assistant makes in a large house, and keeps them`, async (context) => {
    const { urls } = await startBothWays(context)
    const session = { clientId: 'large-house', clean: false }
    const client = await connect(context, urls[way], session)
    // As many at a time as it asks for.
    for (let first = 0; first < 2_500; first += 500) {
      const filters = Array.from({ length: 500 }, (_, index) => `house/device-${first + index}/state`)
      const granted = await client.subscribeAsync(filters, { qos: 1 })
      assert.ok(granted.every(({ qos }) => qos === 1))
    }
    await client.endAsync()
    const sender = await connect(context, urls.TCP)
    for (const number of [0, 1_250, 2_499])
      await sender.publishAsync(`house/device-${number}/state`, String(number), { qos: 1 })
    const { received } = connectListening(context, urls[way], session)
    assert.deepEqual(lines(await received.take(3)), [
      'house/device-0/state 0',
      'house/device-1250/state 1250',
      'house/device-2499/state 2499',
    ])
  })

  test(`over ${way}: a topic of too many levels cuts its sender off, one of the most levels arrives`, async (context) => {
    const { urls } = await startBothWays(context)
    const other = await connect(context, urls.TCP)
    await other.subscribeAsync(['x/#', 'after'])
    const heard = collect(other)
    const client = await connect(context, urls[way])
    const longest = Array(topicLevelsLimit).fill('x').join('/')
    await client.publishAsync(longest, 'fits')
    assert.deepEqual(lines(await heard.take(1)), [`${longest} fits`])
    const closed = once(client as never, 'close')
    client.publish(`${longest}/x`, 'too deep', { qos: 0 })
    await closed
    await other.publishAsync('after', 'x')
    assert.deepEqual(lines(await heard.take(2)).at(-1), 'after x')
  })
}

/** A bus whose connections are encrypted, and how a client comes in. */
async function startEncrypted(context: TestContext, limits: NonNullable<EmbeddedBusSettings['limits']>) {
  const [certificate = '', key = ''] = ['certificate.pem', 'key.pem'].map((name) =>
    readFileSync(join(import.meta.dirname, '..', 'fixtures', 'tls', name), 'utf8'),
  )
  const tls = { identity: { certificate, key }, onRenewed: () => () => undefined }
  const bus = await startBus(context, { tls, limits })
  return { bus, enter: () => connect(context, bus.url, { ca: certificate }) }
}

test('ids and wills of the clients of one address have an end, and room again when one has gone', async (context) => {
  const { urls } = await startBothWays(context)
  const most = 65_535
  const will = { topic: 't'.repeat(most), payload: 'x'.repeat(most), qos: 0, retain: false }
  const answerTo = async (id: string) => {
    const client = await openRaw(context, urls.TCP)
    client.send(connectPacket({ id: id.padEnd(most, '-'), clean: true, will }))
    return { client, code: (await client.expect('connack')).body[1] }
  }
  const fitting = Math.floor(connectBytesLimits.address / (3 * most))
  const [first] = await Promise.all(Array.from({ length: fitting }, (_, index) => answerTo(`fits-${index}`)))
  assert.equal(first?.code, 0)
  const refused = await answerTo('one-too-many')
  assert.equal(refused.code, 3)
  await refused.client.ended
  const small = await openRaw(context, urls.TCP)
  small.send(connectPacket({ id: 'small', clean: true, will: { ...will, topic: 'gone', payload: 'yes' } }))
  assert.equal((await small.expect('connack')).body[1], 0)
  await first.client.vanish()
  // The broker hears of the end a little later.
  for (let attempt = 0; (await answerTo('again')).code !== 0; attempt += 1) assert.ok(attempt < 200)
})

test('over TLS: when all places are taken, who has agreed on no encryption for the longest time makes room', async (context) => {
  const { bus, enter } = await startEncrypted(context, { connections: 2 })
  const first = await openRaw(context, bus.url)
  const second = await openRaw(context, bus.url)
  await enter()
  await first.ended
  assert.equal(second.hasEnded(), false)
  await enter()
  await second.ended
  await assert.rejects(enter())
  assert.equal(bus.clients, 2)
})

test('over TLS: who agrees on no encryption takes a place of its address until it goes', async (context) => {
  const limits = { connectionsPerAddress: 2, isOwnAddress: () => false }
  const { bus, enter } = await startEncrypted(context, limits)
  await enter()
  const silent = await openRaw(context, bus.url)
  await assert.rejects(enter())
  await silent.vanish()
  // The broker hears of the end a little later.
  for (let attempt = 0; (await enter().catch(() => undefined)) === undefined; attempt += 1)
    assert.ok(attempt < 200)
  await assert.rejects(enter())
})

test('a wrong password is counted', async (context) => {
  const { bus, urls } = await startBothWays(context, { token: 'right-and-long' })
  for (const way of ways) {
    await assert.rejects(connect(context, urls[way], { username: 'me', password: 'wrong' }))
  }
  await connect(context, urls.WebSocket, { username: 'me', password: 'right-and-long' })
  assert.equal(bus.wrongPasswords, 2)
})
