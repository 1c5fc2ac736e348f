import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diskRetryDelays } from '../../../src/base/files/disk-retry-delays.ts'
import { createBrokerSessions } from '../../../src/bus/store/broker-sessions.ts'
import type { RecordFolder } from '../../../src/bus/store/record-folder.ts'
import { createWriteBehind, writeBehindDelay } from '../../../src/bus/store/write-behind.ts'
import { decodeBrokerRecord, writingPhase } from '../../../src/schema/files/broker-record.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { createRecordingLogger } from '../bus-fixture.ts'
import { acknowledgeOne, sendOne } from './session-client.ts'

type Disk = ReadonlyMap<string, Buffer>

const all = ['one', 'two', 'three']
/** Like the note of a message of QoS 2 that has come: with it on disk, nobody sends again what had come before. */
const noteKey = 'unreleased/publisher'
/** A batch takes no more. */
const batchBytes = 1024 * 1024

/** Sessions in front of a folder in memory, each of whose batches is one record. */
async function createStage(content: Disk = new Map()) {
  const disk = new Map(content)
  const wholes = new WeakMap<Buffer, Buffer>()
  const state = {
    /** What a kill after each single change would have left. */
    kills: [] as { disk: Disk; done: Set<string> }[],
    /** Which of the next batches the disk refuses. */
    refusals: [] as boolean[],
    /** Between two batches. */
    meanwhile: (): void => undefined,
  }
  const done = new Set<string>()
  const folder: RecordFolder = {
    exists: () => Promise.resolve(disk.size > 0),
    open(take) {
      for (const key of [...disk.keys()].sort()) take?.(key, disk.get(key) ?? Buffer.alloc(0))
      return Promise.resolve({
        anew: false,
        records: {
          write(changes) {
            if (state.refusals.shift() === true) return Promise.reject(new Error('no space'))
            for (const { key, value } of changes) {
              if (value === undefined) disk.delete(key)
              else disk.set(key, wholes.get(value) ?? value)
              state.kills.push({ disk: new Map(disk), done: new Set(done) })
            }
            state.meanwhile()
            return Promise.resolve()
          },
          close: () => Promise.resolve(),
        },
      })
    },
  }
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const behind = createWriteBehind({ folder, phaseOf: writingPhase, clock, logger })
  const set = (key: string, encode: () => Buffer): void =>
    behind.set(key, () => {
      const bytes = encode()
      const whole = Buffer.allocUnsafe(batchBytes)
      wholes.set(whole, bytes)
      return whole
    })
  const sessions = createBrokerSessions({
    ...{ root: 'host', firstNumber: 1_000, isConnected: () => false, warn: () => undefined },
    disk: {
      set,
      delete: (key) => {
        behind.delete(key)
      },
      get writes() {
        return behind.writes
      },
    },
  })
  await behind.load(
    (_key, value) => {
      const record = decodeBrokerRecord(value)
      if (record === undefined) return
      assert.ok(record.kind !== 'retained' && record.kind !== 'unreleased' && record.kind !== 'will')
      sessions.restore(record)
    },
    () => {
      sessions.restored()
    },
  )

  let counter = 0
  const publish = (clients: readonly string[], qos: 1 | 2, topic: string): void => {
    const packet = { cmd: 'publish', topic, payload: Buffer.from(topic), qos, retain: false }
    sessions.enqueue(clients, { ...packet, brokerId: 'b', brokerCounter: (counter += 1) }, packet.payload)
  }
  let published = 0
  return {
    state,
    done,
    disk,
    publish(clients: readonly string[], qos: 1 | 2): void {
      publish(clients, qos, String((published += 1)))
      const bytes = Buffer.from(String(published))
      set(noteKey, () => bytes)
    },
    send: (client: string, which: number) => {
      sendOne(sessions, client, which)
    },
    acknowledge(client: string, which: number): void {
      const topic = acknowledgeOne(sessions, client, which)
      if (topic !== undefined) done.add(`${client} ${topic}`)
    },
    /** What has come while its client was served what had waited: it comes as a message of its own. */
    anew(client: string): void {
      for (const { topic, qos } of sessions.takeUnsent(client)) publish([client], qos === 2 ? 2 : 1, topic)
    },
    /** Its session ends, and another one begins. */
    forget(client: string): void {
      for (const { topic } of sessions.queueOf(client)) done.add(`${client} ${topic}`)
      sessions.forget(client)
      sessions.subscribe(client, { topic: '#', qos: 2 })
    },
    subscribe: (client: string) => {
      sessions.subscribe(client, { topic: '#', qos: 2 })
    },
    waiting: (client: string) => sessions.queueOf(client).filter(({ cmd }) => cmd === 'publish'),
    async write(): Promise<void> {
      clock.advance(writeBehindDelay)
      await new Promise((resolve) => setImmediate(resolve))
      while (behind.failure !== undefined) {
        clock.advance(Math.max(...diskRetryDelays))
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

type Stage = Awaited<ReturnType<typeof createStage>>

const which = fc.oneof(fc.constant(0), fc.nat({ max: 3 }))
const client = fc.constantFrom(...all)
const act = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('publish' as const),
      clients: fc.subarray(all, { minLength: 1 }),
      qos: fc.constantFrom(1 as const, 2 as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom('send' as const, 'acknowledge' as const), client, which }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('anew' as const, 'forget' as const), client }) },
)
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

function perform(stage: Stage, one: Act): void {
  if (one.kind === 'publish') stage.publish(one.clients, one.qos)
  else if ('which' in one) stage[one.kind](one.client, one.which)
  else stage[one.kind](one.client)
}

/** What is done, then a write, and what is done between its batches. */
const round = fc.record({
  before: fc.array(act, { maxLength: 8 }),
  meanwhile: fc.array(fc.array(act, { maxLength: 3 }), { maxLength: 6 }),
  refusals: fc.array(fc.boolean(), { maxLength: 12 }),
})

test('A kill between any two batches, also of a disk that was full meanwhile, loses nothing whose note of arrival is on disk, and what was confirmed before the last whole write does not come again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 4 }), fc.nat(), async (rounds, at) => {
      const stage = await createStage()
      for (const one of all) stage.subscribe(one)
      await stage.write()
      const receivers = new Map<string, readonly string[]>()
      const performed = (one: Act): void => {
        if (one.kind === 'publish') receivers.set(String(receivers.size + 1), one.clients)
        perform(stage, one)
      }
      let over = new Set<string>()
      const moments: { disk: Disk; done: Set<string>; over: Set<string> }[] = []
      for (const { before, meanwhile, refusals } of rounds) {
        before.forEach(performed)
        const atStart = new Set(stage.done)
        const pending = [...meanwhile]
        stage.state.meanwhile = () => pending.shift()?.forEach(performed)
        stage.state.kills = []
        stage.state.refusals = [...refusals]
        await stage.write()
        for (const kill of stage.state.kills) moments.push({ ...kill, over })
        over = atStart
        moments.push({ disk: new Map(stage.disk), done: new Set(stage.done), over })
      }
      for (const [index, { disk, done, over: confirmed }] of moments.entries()) {
        const next = await createStage(disk)
        const told = Number(disk.get(noteKey)?.toString() ?? 0)
        for (const one of all) {
          const topics = next.waiting(one).map(({ topic }) => topic)
          for (let topic = 1; topic <= told; topic += 1) {
            const isDue = receivers.get(String(topic))?.includes(one) && !done.has(`${one} ${topic}`)
            if (isDue) assert.ok(topics.includes(String(topic)), `${topic} is lost for ${one}`)
          }
          for (const topic of topics)
            assert.ok(!confirmed.has(`${one} ${topic}`), `${topic} comes again to ${one}`)
        }
        if (index !== at % moments.length) continue
        // The next run goes on from there: what is confirmed in it is done for good.
        for (const one of all) for (let n = 0; n < 20; n += 1) next.acknowledge(one, 0)
        await next.write()
        await next.write()
        const last = await createStage(next.disk)
        for (const one of all)
          assert.deepEqual(
            last.waiting(one).map(({ topic }) => topic),
            next.waiting(one).map(({ topic }) => topic),
          )
      }
    }),
    { numRuns: 150 },
  )
})
