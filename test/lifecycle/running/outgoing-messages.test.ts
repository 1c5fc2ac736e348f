import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOutgoingMessages } from '../../../src/lifecycle/running/outgoing-messages.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (given: string): Uint8Array => new TextEncoder().encode(given)

function start() {
  const prepared: string[] = []
  const sent: unknown[][] = []
  const told: string[] = []
  const outgoing = createOutgoingMessages({
    plugin: '@a/b',
    root: 'host',
    bus: {
      prepare(topic, publisher) {
        prepared.push(topic)
        return (payload, { qos, retain }) => sent.push([topic, text(payload), qos, retain, publisher])
      },
    },
    guard: { publish: (topic) => (topic.startsWith('no/') ? 'refused' : undefined) },
    mayRetain: (topic) => topic !== 'full',
    isLoaded: (plugin) => plugin === '@c/d',
    sets: (other, what) => told.push(`${other} ${what}`),
  })
  const publish = (topic: string, payload: string, qos: 0 | 1 | 2 = 0, retain = false): void =>
    outgoing(topic, bytes(payload), { qos, retain })
  return { publish, prepared, sent, told }
}

test('a topic is looked at once, however many messages go there', () => {
  const { publish, prepared, sent } = start()
  publish('t', 'one')
  publish('t', 'two', 1, true)
  publish('no/t', 'three')
  publish('full', 'four', 0, true)
  publish('full', 'five')
  publish('t', 'six')
  assert.deepEqual(prepared, ['t', 'full'])
  assert.deepEqual(sent, [
    ['t', 'one', 0, false, '@a/b'],
    ['t', 'two', 1, true, '@a/b'],
    ['full', 'five', 0, false, '@a/b'],
    ['t', 'six', 0, false, '@a/b'],
  ])
})

test('a command to another plugin is not retained, and told once to one that is loaded', () => {
  const { publish, sent, told } = start()
  for (const plugin of ['@a/b', '@c/d', '@c/d', '@e/f'])
    publish(`host/plugins/${plugin}/controls/lamp/set`, 'ON', 1, true)
  publish('host/plugins/@c/d/exposed/lamp/state/set', 'ON')
  assert.deepEqual(told, ['@c/d controls/lamp', '@c/d exposed/lamp/state'])
  assert.deepEqual(
    sent.map(([, payload, qos, retain]) => [payload, qos, retain]),
    [...[1, 2, 3, 4].map(() => ['ON', 1, false]), ['ON', 0, false]],
  )
})
