import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createBrokerSessions, sessionQueueLimit } from '../../../src/bus/store/broker-sessions.ts'
import { createSharedMessage } from '../../../src/bus/store/shared-messages.ts'
import {
  decodeBrokerRecord,
  encodeBrokerRecord,
  keyOfBrokerRecord,
  type PositionRecord,
  writingPhase,
} from '../../../src/schema/files/broker-record.ts'
import { acknowledgeOne, sendOne } from './session-client.ts'

type Qos = 1 | 2

/** Sessions, and their records in memory: what is on disk is what they were at the last `write`. */
function createStage() {
  const disk = new Map<string, Buffer>()
  let dirty = new Map<string, (() => Buffer) | undefined>()
  let reading: string | undefined
  let taken = (): unknown => undefined
  let counter = 0
  let writes = 0

  const create = (firstNumber: number) =>
    createBrokerSessions({
      ...{ root: 'host', firstNumber, isConnected: () => false, warn: () => undefined },
      disk: {
        set: (key, encode) => void (key === reading ? taken() : dirty.set(key, encode)),
        delete: (key) => void dirty.set(key, undefined),
        get writes() {
          return writes
        },
      },
    })
  let sessions = create(1_000)

  const stage = {
    get sessions() {
      return sessions
    },
    disk,
    subscribe: (client: string) => sessions.subscribe(client, { topic: '#', qos: 2 }),
    publish(clients: readonly string[], qos: Qos, payload = Buffer.from(`${counter}`)): void {
      const packet = { cmd: 'publish', topic: `t/${counter}`, payload, qos, retain: false }
      sessions.enqueue(clients, { ...packet, brokerId: 'b', brokerCounter: (counter += 1) }, payload)
    },
    send: (client: string, which: number) => {
      sendOne(sessions, client, which)
    },
    acknowledge: (client: string, which: number) => acknowledgeOne(sessions, client, which),
    /** `isHalf`: the process is killed before it comes to what is written last. */
    write(isHalf = false): void {
      writes += 1
      for (const [key, encode] of dirty) {
        if (isHalf && writingPhase(key) === 'last') continue
        if (encode === undefined) disk.delete(key)
        else disk.set(key, encode())
      }
      dirty = new Map()
    },
    /** The process is killed, and another one reads what it has left; the time of day may have been set back. */
    restart(): void {
      dirty = new Map()
      sessions = create(1)
      for (const key of [...disk.keys()].sort()) {
        const record = decodeBrokerRecord(disk.get(key) ?? Buffer.alloc(0))
        assert.ok(record !== undefined && record.kind !== 'retained')
        assert.ok(record.kind !== 'unreleased' && record.kind !== 'will')
        reading = key
        sessions.restore(record)
        reading = undefined
      }
      sessions.restored()
    },
    /** It is on disk, which could not be read before; what is not taken goes. */
    takeLate(record: PositionRecord): void {
      const key = keyOfBrokerRecord(record)
      disk.set(key, encodeBrokerRecord(record))
      let isTaken = false
      reading = key
      taken = () => (isTaken = true)
      sessions.restore(record)
      reading = undefined
      if (!isTaken) dirty.set(key, undefined)
      sessions.restored()
    },
    waiting: (client: string) =>
      sessions
        .queueOf(client)
        .map(({ cmd, topic, qos, payload, messageId }) => [cmd, topic, qos, payload.toString(), messageId]),
  }
  return stage
}

test('A message that waits for fifty clients is written once, and nothing of it stays when all have it', () => {
  const stage = createStage()
  const clients = Array.from({ length: 50 }, (_, index) => `client-${index}`)
  for (const client of clients) stage.subscribe(client)
  stage.write()
  const before = new Set(stage.disk.keys())
  stage.publish(clients, 1, Buffer.alloc(10_000))
  stage.write()
  const fresh = [...stage.disk].filter(([key]) => !before.has(key))
  assert.equal(fresh.length, 1)
  assert.ok((fresh[0]?.[1].length ?? 0) < 12_000)
  stage.restart()
  for (const client of clients) {
    assert.equal(stage.waiting(client).length, 1)
    stage.send(client, 0)
    stage.acknowledge(client, 0)
  }
  stage.write()
  assert.deepEqual(
    [...stage.disk.keys()].filter((key) => !/^(client|position)\//.test(key)),
    [],
  )
})

test('What has given way to newer messages does not come back after a restart', () => {
  const stage = createStage()
  const clients = ['one', 'two']
  for (const client of clients) stage.subscribe(client)
  for (let count = 0; count < sessionQueueLimit; count += 1) stage.publish(clients, 1)
  stage.write()
  stage.publish(['one'], 1)
  for (let count = 0; count < 5; count += 1) stage.publish(clients, 1)
  stage.write()
  const expected = clients.map((client) => stage.waiting(client))
  stage.restart()
  assert.deepEqual(
    expected.map(({ length }) => length),
    [sessionQueueLimit, sessionQueueLimit],
  )
  assert.deepEqual(
    clients.map((client) => stage.waiting(client)),
    expected,
  )
})

test('What was being sent when the process was killed in the midst of a write comes again once, and not after it was confirmed', () => {
  const stage = createStage()
  for (const client of ['one', 'two']) stage.subscribe(client)
  stage.publish(['one', 'two'], 1)
  stage.write()
  stage.send('one', 0)
  stage.write(true)
  stage.restart()
  assert.deepEqual(stage.waiting('one'), [['publish', 't/0', 1, '0', 1]])
  stage.acknowledge('one', 0)
  stage.write()
  stage.restart()
  assert.deepEqual([stage.waiting('one'), stage.waiting('two').length], [[], 1])
})

test('What comes after a start whose time of day is earlier is not taken for what had come before it', () => {
  const stage = createStage()
  for (const client of ['one', 'two', 'gone']) stage.subscribe(client)
  stage.publish(['one', 'gone'], 1)
  stage.write()
  stage.send('one', 0)
  stage.acknowledge('one', 0)
  stage.write()
  stage.sessions.forget('gone')
  stage.write()
  stage.restart()
  stage.publish(['one', 'two'], 1)
  stage.write()
  stage.restart()
  assert.deepEqual([stage.waiting('one').length, stage.waiting('two').length], [1, 1])
})

test('How far a client was in an earlier run does not take what has come to it in this one, before the disk could be read, by a clock that was set back', () => {
  const stage = createStage()
  for (const client of ['one', 'two']) stage.subscribe(client)
  stage.publish(['one', 'two'], 1)
  stage.takeLate({ kind: 'position', client: 'one', number: 5_000 })
  stage.write()
  stage.restart()
  assert.deepEqual([stage.waiting('one').length, stage.waiting('two').length], [1, 1])
})

test('A client that begins anew after its session was forgotten does not get what had waited for it', () => {
  const stage = createStage()
  for (const client of ['one', 'two']) stage.subscribe(client)
  stage.publish(['one', 'two'], 1)
  stage.write()
  stage.sessions.forget('two')
  stage.write()
  stage.restart()
  stage.subscribe('two')
  stage.write()
  stage.restart()
  assert.deepEqual([stage.waiting('one').length, stage.waiting('two')], [1, []])
})

test('A message that waits for nobody any more is not written again', () => {
  const kept = new Set<string>()
  const disk = {
    set: (key: string) => void kept.add(key),
    delete: (key: string) => void kept.delete(key),
    writes: 1,
  }
  const packet = { topic: 'x', qos: 1 as const, payload: Buffer.alloc(0) }
  const shared = createSharedMessage({ number: 7, clients: ['one', 'two'], isOnDisk: true }, packet, disk)
  assert.deepEqual([shared.leave(7), kept.size], [true, 1])
  assert.deepEqual([shared.leave(8), kept.size], [false, 0])
  shared.rewrite()
  assert.equal(kept.size, 0)
})

const all = ['one', 'two', 'three']
const client = fc.constantFrom(...all)
const which = fc.nat({ max: 5 })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('publish' as const),
      clients: fc.subarray(all, { minLength: 1 }),
      qos: fc.constantFrom<Qos>(1, 2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('send' as const, 'acknowledge' as const),
      client,
      which: fc.oneof(fc.constant(0), which),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('forget' as const, 'takeUnsent' as const), client }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('write' as const, 'restart' as const) }) },
)

test('After a restart each client gets what waited for it at the last write, in order and as far as it had come, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const stage = createStage()
      let written: unknown
      const write = (): void => {
        stage.write()
        written = all.map((one) => stage.waiting(one))
      }
      for (const one of all) stage.subscribe(one)
      write()
      for (const each of [...steps, { kind: 'restart' as const }]) {
        switch (each.kind) {
          case 'publish':
            stage.publish(each.clients, each.qos)
            break
          case 'send':
            stage.send(each.client, each.which)
            break
          case 'acknowledge':
            stage.acknowledge(each.client, each.which)
            break
          case 'takeUnsent':
            stage.sessions.takeUnsent(each.client)
            break
          case 'forget':
            stage.sessions.forget(each.client)
            stage.subscribe(each.client)
            break
          case 'write':
            write()
            break
          case 'restart':
            stage.restart()
            assert.deepEqual(
              all.map((one) => stage.waiting(one)),
              written,
            )
            // What the start itself has to say is written before anything else.
            write()
        }
      }
    }),
    { numRuns: 400 },
  )
})
