import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { Problem } from '../../../src/base/problem.ts'
import { createCoordinator } from '../../../src/host/fleet/coordinator.ts'
import type { JournalEventView } from '../../../src/schema/journal/journal-event.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** From where a host tells MQTT of the events of a fleet, when the store is away as it begins. */

const turn = (): Promise<void> => new Promise(setImmediate)
const away = new Problem('fleet_unreachable', 'The store does not answer.')

/** A journal with ten events, of which the broker was told six; it takes all at once, unless it is slow. */
function createStage() {
  const clock = createManualClock()
  const events = Array.from({ length: 10 }, (_, index) => ({ seq: index + 1 }) as JournalEventView)
  const told: number[] = []
  const warnings: unknown[] = []
  const stored = { value: 6 as number | undefined, refusal: undefined as Error | undefined, released: 0 }
  const broker = { isSlow: false, waiting: [] as (() => void)[] }
  const coordinator = createCoordinator({
    lifecycle: {
      history: ({ after = 0 }) => events.filter(({ seq }) => seq > after),
      get lastSeq() {
        return events.length
      },
    },
    bus: {
      connected: true,
      deliver(_topic, payload, { done }) {
        told.push((JSON.parse(payload) as JournalEventView).seq)
        if (broker.isSlow) broker.waiting.push(done)
        else done()
      },
    },
    stores: {
      async open() {
        if (stored.refusal !== undefined) throw stored.refusal
        return stored.value === undefined ? {} : { lifecycle: { value: stored.value } }
      },
      set: (_plugin, _key, entry) => void (stored.value = entry?.value as number),
      async release() {
        stored.released += 1
      },
    },
    ...{ root: 'host', clock },
    logger: { ...silentLogger, warn: (_text: string, fields?: object) => void warnings.push(fields) },
  })
  return {
    ...{ coordinator, clock, told, warnings, stored, broker },
    happen(): void {
      const event = { seq: events.length + 1 } as JournalEventView
      events.push(event)
      coordinator.follow(event)
    },
    async pass(milliseconds: number): Promise<void> {
      await turn()
      clock.advance(milliseconds)
      await turn()
    },
  }
}

test('a host that cannot read at first what MQTT was told leaves no event out, and says why once', async () => {
  const { coordinator, told, warnings, stored, happen, pass } = createStage()
  stored.refusal = away
  const begun = coordinator.begin()
  for (let n = 0; n < 3; n += 1) await pass(2_000)
  happen()
  assert.deepEqual([told, stored.value], [[], 6])
  stored.refusal = undefined
  await pass(2_000)
  await begun
  happen()
  assert.deepEqual(told, [7, 8, 9, 10, 11, 12])
  assert.deepEqual([stored.value, warnings], [12, [{ error: away.message }]])
  await coordinator.end()
  assert.equal(stored.released, 1)
})

test('a host that is not to tell MQTT any more while it cannot read that asks no further', async () => {
  const { coordinator, clock, told, stored, pass } = createStage()
  stored.refusal = away
  const begun = coordinator.begin()
  await pass(0)
  await coordinator.end()
  await begun
  stored.refusal = undefined
  assert.deepEqual([clock.waiting, told, stored.value], [0, [], 6])
})

test('what was written down and cannot be read at all is followed by the present', async () => {
  const { coordinator, told, stored, happen } = createStage()
  stored.refusal = new Error('The key is another one.')
  await coordinator.begin()
  happen()
  assert.deepEqual(told, [11])
  await coordinator.end()
})

test('the host that begins again tells what came since it was told last, and what comes late of the time before counts for nothing', async () => {
  const { coordinator, told, stored, happen, pass } = createStage()
  stored.refusal = away
  const first = coordinator.begin()
  await pass(0)
  await coordinator.end()
  stored.refusal = undefined
  await coordinator.begin()
  await first
  happen()
  assert.deepEqual([told, stored.value], [[7, 8, 9, 10, 11], 11])
  await coordinator.end()
  happen()
  assert.deepEqual([told.length, stored.value], [5, 11])
})

test('the first host of a fleet that tells MQTT begins with the present, and writes that down', async () => {
  const { coordinator, told, stored } = createStage()
  stored.value = undefined
  await coordinator.begin()
  assert.deepEqual([told, stored.value], [[], 10])
  await coordinator.end()
})

test('what a slow broker takes until the end of a host is written down before the values are given back', async () => {
  const { coordinator, clock, stored, broker, pass } = createStage()
  broker.isSlow = true
  await coordinator.begin()
  const ended = coordinator.end()
  await pass(0)
  assert.equal(stored.released, 0)
  for (const take of broker.waiting) take()
  await ended
  assert.deepEqual([stored.value, stored.released, clock.waiting], [10, 1, 0])
})

test('a host that begins again before it has ended keeps the values, and goes on from what was written down', async () => {
  const { coordinator, told, stored, broker, pass } = createStage()
  broker.isSlow = true
  await coordinator.begin()
  const ended = coordinator.end()
  await pass(0)
  const [former, ...rest] = broker.waiting.splice(0)
  former?.()
  assert.equal(stored.value, 7)
  await coordinator.begin()
  for (const take of rest) take()
  await ended
  assert.deepEqual([stored.value, stored.released], [7, 0])
  assert.deepEqual(told, [7, 8, 9, 10, 8, 9, 10])
  for (const take of broker.waiting) take()
  assert.equal(stored.value, 10)
})
