import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepEvent, type KeptEvents, keptEvents } from '../../../src/web/store/kept-events.ts'

function keptOf(count: number, data: unknown): KeptEvents {
  const kept: KeptEvents = { events: [], size: 0 }
  const size = JSON.stringify(data).length
  for (let key = 1; key <= count; key += 1) keepEvent(kept, { key, at: 0, name: 'tick', data, size })
  return kept
}

const charactersOf = ({ events }: KeptEvents): number =>
  events.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0)

test('of many short events the newest are kept', () => {
  const { events, size } = keptOf(5_000, { on: true })
  assert.ok(events.length >= keptEvents && events.length <= keptEvents * 2)
  assert.equal(events.at(-1)?.key, 5_000)
  assert.deepEqual(events.at(-1)?.data, { on: true })
  assert.equal(size, events.length * '{"on":true}'.length)
})

test('of long events fewer are kept, and of each the beginning', () => {
  const kept = keptOf(1_000, { text: 'x'.repeat(1_000_000) })
  assert.ok(charactersOf(kept) < 10_000_000)
  assert.ok(kept.events.length > 100)
  assert.equal(kept.events.at(-1)?.key, 1_000)
  assert.match(
    String(kept.events.at(-1)?.data),
    /^\{"text":"x{19000,}… and 980,011 more characters, which go over MQTT$/,
  )
})

test('an event that is as long as may be is whole', () => {
  const text = 'y'.repeat(19_000)
  assert.equal(keptOf(1, text).events[0]?.data, text)
})
