import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import {
  createOutgoingQueue,
  type OutgoingMessage,
  waitingBytesLimit,
  waitingMessagesLimit,
} from '../../../src/bus/external/outgoing-queue.ts'
import { createQuarantine } from '../../../src/bus/external/quarantine.ts'

const message = (topic: string, qos: 0 | 1 | 2 = 0, payload = ''): OutgoingMessage => ({
  topic,
  payload: Buffer.from(payload),
  qos,
  retain: false,
})

/** Nothing is under suspicion here, so nobody has to be asked. */
const ask = () => assert.fail('the broker was asked')

function setUp() {
  const sent: string[] = []
  const done = new Map<string, (error?: Error) => void>()
  const dropped: number[] = []
  const refused: string[] = []
  const queue = createOutgoingQueue(
    createQuarantine({
      clock: systemClock,
      ownerOf: () => undefined,
      held: () => undefined,
      released: () => undefined,
    }),
    () => dropped.push(1),
    (topic) => refused.push(topic),
  )
  return {
    queue,
    sent,
    dropped,
    refused,
    send({ topic }: OutgoingMessage, settle: (error?: Error) => void) {
      sent.push(topic)
      done.set(topic, settle)
    },
    finish: (topic: string, error?: Error) => done.get(topic)?.(error),
    /** What the latest sending of a message is answered with. */
    answerTo: (topic: string) => done.get(topic) ?? assert.fail(`${topic} was not sent`),
  }
}

test('Messages wait for a connection and leave in the order in which they came', () => {
  const { queue, sent, send } = setUp()
  queue.push(message('a', 1))
  queue.push(message('b', 0))
  assert.deepEqual(sent, [])
  queue.open(send, ask, 10)
  queue.push(message('c', 2))
  assert.deepEqual(sent, ['a', 'b', 'c'])
})

test('What breaks the connection while it is being sent is the last on it, and all goes over the next one', () => {
  const { queue, sent, send, finish } = setUp()
  for (const topic of ['a', 'b', 'c']) queue.push(message(topic, 1))
  queue.open(
    (first, settle) => {
      send(first, settle)
      queue.pause()
    },
    ask,
    10,
  )
  assert.deepEqual(sent, ['a'])
  queue.open(send, ask, 10)
  assert.deepEqual(sent, ['a', 'a', 'b', 'c'])
  for (const topic of ['a', 'b', 'c']) finish(topic)
  assert.equal(queue.waiting, 0)
})

test('A full window holds back everything behind it', () => {
  const { queue, sent, send, finish } = setUp()
  queue.open(send, ask, 2)
  for (const topic of ['a', 'b', 'c']) queue.push(message(topic, 1))
  queue.push(message('d', 0))
  assert.deepEqual(sent, ['a', 'b'])
  finish('b')
  assert.deepEqual(sent, ['a', 'b', 'c', 'd'])
})

test('What was not acknowledged is sent again first, what needs no acknowledgement is not, and old answers do not count', () => {
  const { queue, sent, send, finish, answerTo } = setUp()
  const settled: string[] = []
  queue.open(send, ask, 3)
  for (const [topic, qos] of [
    ['a', 1],
    ['b', 0],
    ['c', 1],
    ['d', 2],
    ['e', 1],
  ] as const)
    queue.push(message(topic, qos), () => settled.push(topic))
  finish('a')
  const stale = answerTo('c')
  queue.pause()
  queue.push(message('f'))
  stale()
  assert.equal(queue.waiting, 4)
  sent.length = 0
  queue.open(send, ask, 10)
  assert.deepEqual(sent, ['c', 'd', 'e', 'f'])
  stale()
  assert.deepEqual([queue.waiting, settled], [4, ['a', 'b']])
  finish('c')
  finish('c')
  assert.deepEqual([queue.waiting, settled], [3, ['a', 'b', 'c']])
})

test('Messages that are done before the sending returns keep their order, however many wait', () => {
  const { queue, sent } = setUp()
  // So many that the stack would be full if each were sent from within the one before.
  const topics = Array.from({ length: waitingMessagesLimit }, (_, index) => String(index))
  for (const topic of topics) queue.push(message(topic))
  queue.open(
    ({ topic }, done) => {
      sent.push(topic)
      done()
    },
    ask,
    1,
  )
  assert.deepEqual([sent, queue.waiting], [topics, 0])
})

test('A message that the broker refuses is told once, and its sender is not left waiting', () => {
  const { queue, refused, send, finish } = setUp()
  let settled = 0
  queue.open(send, ask, 1)
  queue.push(message('a', 1), () => {
    settled += 1
  })
  finish('a', new Error('not authorized'))
  assert.deepEqual([refused, settled, queue.waiting], [['a'], 1, 0])
})

test('Without a connection the oldest give way when there are too many, or too large ones', () => {
  const many = setUp()
  for (let number = 0; number < waitingMessagesLimit + 3; number += 1)
    many.queue.push(message(String(number)))
  many.queue.open(many.send, ask, 10)
  assert.deepEqual([many.dropped.length, many.sent[0]], [3, '3'])

  const large = setUp()
  const half = 'x'.repeat(waitingBytesLimit / 2)
  const lost: string[] = []
  for (const topic of ['a', 'b', 'c']) large.queue.push(message(topic, 1, half), () => lost.push(topic))
  assert.deepEqual(lost, ['a'])
  large.queue.open(large.send, ask, 10)
  assert.deepEqual(large.sent, ['b', 'c'])
})

test('A message that is kept gives way to none, however many come after it, and keeps its place', () => {
  const { queue, sent, dropped, send, finish } = setUp()
  let settled = 0
  const kept = { ...message('kept', 1), isKept: true }
  queue.push(message('first'))
  queue.push(kept, () => {
    settled += 1
  })
  for (let number = 0; number < waitingMessagesLimit + 3; number += 1) queue.push(message(String(number)))
  queue.push({ ...message('large', 1, 'x'.repeat(waitingBytesLimit)), isKept: true })
  queue.push(message('latest', 0, 'x'))
  queue.open(send, ask, 10)
  assert.deepEqual(sent, ['kept', 'large', 'latest'])
  assert.equal(dropped.length, waitingMessagesLimit + 4)
  queue.pause()
  assert.equal(settled, 0)
  queue.open(send, ask, 10)
  finish('kept')
  assert.equal(settled, 1)
})

test('What a broken connection brings back counts among what waits', () => {
  const { queue, sent, dropped, send } = setUp()
  const half = 'x'.repeat(waitingBytesLimit / 2)
  queue.open(send, ask, 2)
  for (const topic of ['a', 'b', 'c']) queue.push(message(topic, 1, half))
  assert.deepEqual([sent, dropped.length], [['a', 'b'], 0])
  queue.pause()
  assert.equal(dropped.length, 1)
  queue.open(send, ask, 2)
  assert.deepEqual(sent.slice(2), ['b', 'c'])
})

test('Messages that are kept may together be more than may wait', () => {
  const { queue, sent, dropped, send } = setUp()
  const half = 'x'.repeat(waitingBytesLimit / 2 + 1)
  for (const topic of ['a', 'b']) queue.push({ ...message(topic, 1, half), isKept: true })
  queue.open(send, ask, 10)
  assert.deepEqual([sent, dropped], [['a', 'b'], []])
})

test('A packet that is larger than the broker takes is refused, and those behind it are not', () => {
  const { queue, sent, refused, send } = setUp()
  queue.open(send, ask, 10, 100)
  for (const [topic, payload] of [
    ['large', 'x'.repeat(86)],
    ['right', 'x'.repeat(85)],
  ] as const)
    queue.push(message(topic, 1, payload))
  assert.deepEqual([sent, refused], [['right'], ['large']])
})

test('Who waits for what has been pushed waits for all of it, be it sent, refused or lost, and for nothing behind it', async () => {
  const { queue, send, finish } = setUp()
  await queue.settled()
  const order: string[] = []
  for (const topic of ['a', 'b', 'lost', 'last']) queue.push(message(topic, topic === 'lost' ? 0 : 1))
  queue.push({ ...message('unwanted', 1), permit: () => false })
  queue.push(message('large', 1, 'x'.repeat(200)))
  const settled = queue.settled().then(() => order.push('settled'))
  queue.push(message('later', 1))
  queue.open(send, ask, 10, 100)
  finish('a')
  queue.pause()
  queue.open(send, ask, 10, 100)
  finish('b')
  await Promise.resolve()
  order.push('last')
  finish('last')
  await settled
  assert.deepEqual([order, queue.waiting], [['last', 'settled'], 1])
  const sent = queue.settled().then(() => order.push('sent'))
  await Promise.resolve()
  order.push('later')
  finish('later')
  await sent
  assert.deepEqual(order.slice(2), ['later', 'sent'])
})

test('Who publishes is asked to wait while more than two thousand messages do, as long as there is a connection', async () => {
  const { queue, send, finish } = setUp()
  for (let count = 0; count < 2_001; count += 1) queue.push(message('waits', 1))
  assert.equal(queue.congested(), undefined)
  queue.open(send, ask, 1)
  assert.equal(queue.congested(), undefined)
  queue.push(message('one more', 1))
  let isCaughtUp = false
  const caughtUp = queue.congested()?.then(() => (isCaughtUp = true))
  assert.notEqual(caughtUp, undefined)
  queue.push(message('and another', 1))
  finish('waits')
  await Promise.resolve()
  assert.equal(isCaughtUp, false)
  finish('waits')
  await caughtUp
  queue.push(message('too many again', 1))
  let isCutOff = false
  const cutOff = queue.congested()?.then(() => (isCutOff = true))
  assert.notEqual(cutOff, undefined)
  await Promise.resolve()
  assert.equal(isCutOff, false)
  queue.pause()
  await cutOff
})

test('Of large messages no more than some megabytes are on their way to a socket that does not take them, and who publishes is asked to wait', () => {
  const { queue, sent, send, finish } = setUp()
  const mebi = 'x'.repeat(1024 * 1024)
  queue.open(send, ask, 10)
  for (let number = 1; number <= 6; number += 1) queue.push(message(String(number), 0, mebi))
  assert.deepEqual(sent, ['1', '2', '3', '4'])
  finish('1')
  assert.deepEqual(sent.at(-1), '5')
  // One that is to be acknowledged has a window of its own.
  finish('2')
  queue.push(message('acknowledged', 1, mebi))
  assert.deepEqual(sent.slice(-2), ['6', 'acknowledged'])
  for (let number = 7; number <= 14; number += 1) queue.push(message(String(number), 0, mebi))
  assert.equal(queue.congested(), undefined)
  queue.push(message('15', 0, '.'))
  assert.notEqual(queue.congested(), undefined)
  // What was written on a connection that is gone counts no more.
  queue.pause()
  queue.open(send, ask, 10)
  assert.deepEqual(sent.slice(-5), ['acknowledged', '7', '8', '9', '10'])
})

test('What has left gives its room back', () => {
  const { queue, dropped, send, finish } = setUp()
  const half = 'x'.repeat(waitingBytesLimit / 2)
  queue.open(send, ask, 1)
  for (const topic of ['a', 'b', 'c']) queue.push(message(topic, 1, half))
  for (const topic of ['a', 'b', 'c']) finish(topic)
  for (const topic of ['d', 'e', 'f']) queue.push(message(topic, 1, half))
  assert.deepEqual(dropped, [])
  queue.push(message('g', 1, half))
  assert.equal(dropped.length, 1)
})

test('What needs no acknowledgement takes none of the window, and waits for the socket by itself', () => {
  const { queue, sent, send, finish } = setUp()
  queue.open(send, ask, 1)
  queue.push(message('a', 0))
  finish('a')
  for (const topic of ['b', 'c']) queue.push(message(topic, 1))
  assert.deepEqual(sent, ['a', 'b'])
  finish('b')
  finish('c')
  for (let count = 0; count < 1_001; count += 1) queue.push(message('d', 0))
  assert.equal(sent.length, 3 + 1_000)
  finish('d')
  assert.equal(sent.length, 3 + 1_001)
})
