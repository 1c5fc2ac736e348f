import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { sessionQueueLimit, sessionsLimit } from '../../../src/bus/store/broker-sessions.ts'
import { createBrokerStore } from '../../../src/bus/store/broker-store.ts'
import type { WriteBehind } from '../../../src/bus/store/write-behind.ts'
import type { StoredPacket } from '../../../src/bus/store/stored-packet.ts'
import { createRetainedLedger, retainedLimits } from '../../../src/bus/store/retained-ledger.ts'

function createStore(connected: string[] = [], disk?: WriteBehind) {
  const warnings: string[] = []
  const store = createBrokerStore({
    root: 'host',
    firstNumber: 1,
    beginSearch: () => ({ nextTurn: () => Promise.resolve(true), end: () => undefined }),
    isAdmitted: () => true,
    addressOf: () => '192.0.2.1',
    publishWill: () => undefined,
    ledger: createRetainedLedger(),
    publisherOf: (stored) =>
      'publisher' in stored ? { kind: 'host' } : { kind: 'client', address: '192.0.2.1' },
    isConnected: (id) => connected.includes(id),
    warn: (message) => warnings.push(message),
    disk,
  })
  return { store, warnings }
}

const packet = (
  topic: string,
  payload: Buffer,
  rest: Partial<StoredPacket> & { publisher?: 'host' } = {},
): StoredPacket => ({
  cmd: 'publish',
  topic,
  payload,
  qos: 1,
  retain: true,
  brokerId: 'b',
  ...rest,
})

const topicsOf = (packets: Iterable<StoredPacket>): string[] => [...packets].map(({ topic }) => topic)

test('What there is no room for is not retained, and the older value of its topic goes; nothing of the host has a limit', () => {
  const { store, warnings } = createStore()
  const half = Buffer.alloc(retainedLimits.address.bytes / 2 - 1)
  store.storeRetained(packet('host/state', half, { publisher: 'host' }))
  for (const topic of ['a', 'a', 'b']) store.storeRetained(packet(topic, half))
  assert.deepEqual(topicsOf(store.retainedMatching(['#'])), ['host/state', 'a', 'b'])
  assert.deepEqual(warnings, [])
  store.storeRetained(packet('a', Buffer.concat([half, Buffer.alloc(1)])))
  assert.deepEqual(topicsOf(store.retainedMatching(['#'])), ['host/state', 'b'])
  assert.equal(warnings.length, 1)
  store.storeRetained(packet('b', Buffer.alloc(0)))
  for (const topic of ['c', 'd']) store.storeRetained(packet(topic, half))
  assert.deepEqual(topicsOf(store.retainedMatching(['#'])), ['host/state', 'c', 'd'])
  assert.equal(warnings.length, 1)
})

test('A client that is away keeps its newest messages, once for all its filters', async () => {
  const { store } = createStore()
  const client = { id: 'sleeper' }
  for (const [topic, qos] of [
    ['x/#', 1],
    ['x/+', 2],
    ['y', 0],
    ['+/x', 1],
  ] as const)
    store.keepSubscription(client.id, { topic, qos })
  const clientsOf = async (topic: string) =>
    (await store.subscriptionsByTopic(topic)).map(({ clientId }) => clientId)
  assert.deepEqual(await clientsOf('x/1'), ['sleeper'])
  assert.deepEqual(await clientsOf('y'), [])
  assert.deepEqual(await clientsOf('$SYS/x'), [])
  for (let number = 0; number < sessionQueueLimit + 5; number += 1) {
    store.outgoingEnqueueCombi(
      [{ clientId: 'sleeper', qos: 2 }],
      packet(`x/${number}`, Buffer.from('.'), { brokerCounter: number }),
    )
  }
  const queued = topicsOf(await store.outgoingStream(client).toArray())
  assert.deepEqual([queued.length, queued[0]], [sessionQueueLimit, 'x/5'])
})

test('A queued message is acknowledged by its message id, and by way of its release with QoS 2', async () => {
  const { store } = createStore()
  const client = { id: 'c' }
  const first = packet('a', Buffer.from('1'), { brokerCounter: 1 })
  const second = packet('b', Buffer.from('2'), { brokerCounter: 2 })
  store.outgoingEnqueueCombi([{ clientId: 'c', qos: 2 }], first)
  store.outgoingEnqueueCombi([{ clientId: 'c', qos: 2 }], second)
  await store.outgoingUpdate(client, { ...first, messageId: 11 })
  await store.outgoingUpdate(client, { ...second, messageId: 12 })
  const release = { cmd: 'pubrel', messageId: 12 } as StoredPacket
  await store.outgoingUpdate(client, release)
  assert.equal((await store.outgoingClearMessageId(client, { ...first, messageId: 11 }))?.topic, 'a')
  const waiting = (await store.outgoingStream(client).toArray()) as StoredPacket[]
  assert.deepEqual(
    waiting.map(({ cmd, messageId }) => [cmd, messageId]),
    [['pubrel', 12]],
  )
  assert.equal((await store.outgoingClearMessageId(client, release))?.cmd, 'pubrel')
  assert.equal(await store.outgoingClearMessageId(client, release), undefined)
})

test('A message of QoS 2 that its client has makes room for others', async () => {
  const { store, warnings } = createStore()
  const client = { id: 'c' }
  for (const [index, topic] of ['a', 'b', 'c'].entries()) {
    const large = packet(topic, Buffer.alloc(2 * 1024 * 1024), { qos: 2, brokerCounter: index })
    store.outgoingEnqueueCombi([{ clientId: 'c', qos: 2 }], large)
    if (topic === 'c') break
    await store.outgoingUpdate(client, { ...large, messageId: 7 })
    await store.outgoingUpdate(client, { cmd: 'pubrel', messageId: 7 } as StoredPacket)
    await store.outgoingClearMessageId(client, { messageId: 7 })
  }
  store.outgoingEnqueueCombi([{ clientId: 'c', qos: 2 }], packet('d', Buffer.alloc(1024), { qos: 2 }))
  assert.deepEqual(topicsOf(await store.outgoingStream(client).toArray()), ['c', 'd'])
  assert.deepEqual(warnings, [])
})

test('What is retained and sent to a client takes the place of nothing that waits for it', async () => {
  for (const [count, size] of [
    [sessionQueueLimit, 1],
    [3, 1024 * 1024],
  ] as const) {
    const { store, warnings } = createStore()
    const client = { id: 'c' }
    store.keepSubscription(client.id, { topic: '#', qos: 1 })
    for (let number = 0; number < count; number += 1)
      store.outgoingEnqueueCombi([{ clientId: 'c', qos: 1 }], packet(`x/${number}`, Buffer.alloc(size)))
    const retained = { topic: 'retained', payload: Buffer.alloc(size + 1), qos: 1 } as const
    assert.equal(store.sendingRetained(client, retained), undefined)
    const queued = topicsOf(await store.outgoingStream(client).toArray())
    assert.deepEqual([queued.length, queued[0], queued.at(-1)], [count, 'x/0', `x/${count - 1}`])
    assert.deepEqual(warnings, [])
  }
})

test('The oldest session of a client that is away gives way to a new one', async () => {
  const { store } = createStore(['0'])
  for (let number = 0; number <= sessionsLimit; number += 1) {
    store.keepSubscription(String(number), { topic: 'x', qos: 1 })
  }
  assert.equal((await store.subscriptionsByClient({ id: '0' })).length, 1)
  assert.equal((await store.subscriptionsByClient({ id: '1' })).length, 0)
  assert.equal((await store.countOffline()).clientsCount, sessionsLimit)
})

test('What clients that are away have not released is kept for only so many of them', async () => {
  const { store } = createStore()
  const openOf = async (id: string): Promise<boolean> =>
    store.incomingGetPacket({ id }, { messageId: 1 }).catch(() => false)
  for (let number = 0; number <= sessionsLimit; number += 1) {
    const id = String(number)
    await store.incomingStorePacket({ id }, { messageId: 1 })
    store.clientHasGone(id)
    if (number === 1) store.clientIsBack(id)
  }
  assert.deepEqual(await Promise.all(['0', '1', '2'].map(openOf)), [true, true, true])
  await store.incomingStorePacket({ id: 'last' }, { messageId: 1 })
  store.clientHasGone('last')
  assert.deepEqual(await Promise.all(['0', '1', '2', 'last'].map(openOf)), [false, true, true, true])
  await store.incomingDelPacket({ id: '2' }, { messageId: 1 })
  store.clientHasGone('nobody')
  store.clientHasGone('2')
  assert.deepEqual(await Promise.all(['1', '2', '3'].map(openOf)), [true, false, true])
})

/** On a disk that answers when the test says so. */
function createStoreWithSlowDisk() {
  const written = createDeferred<undefined>()
  const { store } = createStore([], {
    ...{ set: () => undefined, delete: () => undefined, writes: 0, failure: undefined },
    ...{ load: () => Promise.resolve(), close: () => Promise.resolve() },
    written: () => written.promise,
  })
  return { store, written }
}

test('A client of which nothing is kept does not wait for the disk, neither when it connects nor with the release of a message of QoS 2', async () => {
  const { store } = createStoreWithSlowDisk()
  const client = { id: 'live', clean: true }
  await store.incomingStorePacket(client, { messageId: 1 })
  const steps: string[] = []
  void store
    .outgoingStream(client)
    .on('end', () => steps.push('ready'))
    .resume()
  void store
    .incomingGetPacket(client, { cmd: 'pubrel', messageId: 1 })
    .then(() => store.incomingDelPacket(client, { messageId: 1 }))
    .then(() => steps.push('released'))
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(steps.sort(), ['ready', 'released'])
})

test('A message of QoS 2 that comes again is confirmed when it is known on disk that it has come', async () => {
  const { store, written } = createStoreWithSlowDisk()
  const client = { id: 'sender', clean: false }
  await store.incomingStorePacket(client, { messageId: 1 })
  let isConfirmed = false
  const again = store.incomingGetPacket(client, { messageId: 1 }).then(() => (isConfirmed = true))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isConfirmed, false)
  written.resolve(undefined)
  await again
})

test('The release of a message of QoS 2 that comes again, on a new connection too, is confirmed when the first one is on disk', async () => {
  const { store, written } = createStoreWithSlowDisk()
  const client = { id: 'sender', clean: false }
  const release = { cmd: 'pubrel', messageId: 1 }
  await store.incomingStorePacket(client, release)
  const steps: string[] = []
  const first = store.incomingDelPacket(client, release).then(() => steps.push('first'))
  const again = assert
    .rejects(store.incomingGetPacket({ ...client }, release), { message: 'no such packet' })
    .then(() => steps.push('again'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(steps, [])
  written.resolve(undefined)
  await Promise.all([first, again])
})

test('Each session waits for its own subscriptions alone, also when it repeats one', async () => {
  const { store, written } = createStoreWithSlowDisk()
  const waitsFor = (client: string, topic: string): Promise<void> | undefined => {
    let until: Promise<void> | undefined
    store.keepSubscription(client, { topic, qos: 1 }, () => {
      until = store.subscriptionWritten()
    })
    return until
  }
  const first = waitsFor('returns', 'a')
  assert.ok(first !== undefined)
  written.resolve(undefined)
  await first
  assert.deepEqual([waitsFor('new', 'b'), store.subscriptionWritten()], [written.promise, undefined])
  assert.deepEqual([waitsFor('new', 'b'), waitsFor('returns', 'a')], [written.promise, undefined])
})

test('Neither the end of a subscription nor a will that nobody keeps waits for the disk: the broker library would take a subscription that follows for the one that ends', async () => {
  const { store } = createStoreWithSlowDisk()
  const client = { id: 'mine', clean: false }
  store.keepSubscription(client.id, { topic: 'a', qos: 1 })
  const steps: string[] = []
  void store.removeSubscriptions(client, ['a']).then(() => steps.push('unsubscribed'))
  const will = { topic: 'state', payload: Buffer.from('gone'), qos: 0, retain: false } as const
  void store.putWill(client, will).then(() => steps.push('will'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(steps.sort(), ['unsubscribed', 'will'])
  // That of the connection which this one takes over may be on disk.
  void store.putWill(client, will).then(() => steps.push('second will'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(steps.length, 2)
})
