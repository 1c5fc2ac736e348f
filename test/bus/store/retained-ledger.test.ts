import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRetainedLedger, type Publisher } from '../../../src/bus/store/retained-ledger.ts'

/** Who may retain how much at the built-in broker, with small limits. Topics have one byte here. */

const limits = {
  plugin: { topics: 2, bytes: 20 },
  address: { topics: 3, bytes: 30 },
  clients: { topics: 4, bytes: 50 },
}

const host: Publisher = { kind: 'host' }
const plugin = (id: string): Publisher => ({ kind: 'plugin', id })
const client = (address: string): Publisher => ({ kind: 'client', address })
const [one, two] = [plugin('@a/one'), plugin('@a/two')]
const [here, there] = [client('192.0.2.1'), client('192.0.2.2')]

type Step =
  [topic: string, payload: number, publisher: Publisher, kept: boolean] | [cleared: string, payload: 0]

const cases: [title: string, steps: Step[], left: Record<string, Publisher>][] = [
  [
    'a plugin has so many topics, and another one as many',
    [
      ['a', 1, one, true],
      ['b', 1, one, true],
      ['c', 1, one, false],
      ['d', 1, two, true],
    ],
    { a: one, b: one, d: two },
  ],
  [
    'topic and payload count, and what is replaced counts once',
    [
      ['a', 9, one, true],
      ['a', 9, one, true],
      ['b', 9, one, true],
      ['b', 10, one, false],
    ],
    { a: one },
  ],
  [
    'what has no room takes the older value of its topic away',
    [
      ['a', 1, there, true],
      ['b', 1, one, true],
      ['c', 1, one, true],
      ['a', 1, one, false],
    ],
    { b: one, c: one },
  ],
  [
    'what is cleared makes room',
    [
      ['a', 19, one, true],
      ['a', 0],
      ['b', 19, one, true],
    ],
    { b: one },
  ],
  [
    'what is cleared makes as much room as it took, beside what stays',
    [
      ['a', 9, one, true],
      ['b', 9, one, true],
      ['a', 0],
      ['c', 10, one, false],
      ['c', 9, one, true],
      ['d', 29, here, true],
      ['d', 0],
      ['e', 29, here, true],
      ['f', 19, there, true],
    ],
    { b: one, c: one, e: here, f: there },
  ],
  [
    'what another one overwrites is the other one’s, and makes room',
    [
      ['a', 19, one, true],
      ['a', 19, two, true],
      ['b', 19, one, true],
      ['c', 1, two, false],
    ],
    { a: two, b: one },
  ],
  [
    'all clients of an address have their limit, and all clients together theirs, by number',
    [
      ['a', 1, here, true],
      ['b', 1, here, true],
      ['c', 1, here, true],
      ['d', 1, here, false],
      ['d', 1, there, true],
      ['e', 1, there, false],
    ],
    { a: here, b: here, c: here, d: there },
  ],
  [
    'and by bytes',
    [
      ['a', 29, here, true],
      ['b', 1, here, false],
      ['b', 19, there, true],
      ['c', 1, there, false],
    ],
    { a: here, b: there },
  ],
  [
    'clients take no room of plugins, plugins none of clients, and the host has no limit',
    [
      ['a', 29, here, true],
      ['b', 19, there, true],
      ['c', 19, one, true],
      ['d', 19, two, true],
      ['e', 99, host, true],
      ['f', 99, host, true],
    ],
    { a: here, b: there, c: one, d: two, e: host, f: host },
  ],
]

for (const [title, steps, left] of cases) {
  test(`Retained messages: ${title}`, () => {
    const ledger = createRetainedLedger(limits)
    for (const [topic, payload, publisher, kept] of steps) {
      if (publisher === undefined) ledger.free(topic)
      else assert.equal(ledger.keep(topic, payload, publisher), kept, topic)
    }
    const known = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((topic) => {
      const publisher = ledger.publisherOf(topic)
      return publisher === undefined ? [] : [[topic, publisher]]
    })
    assert.deepEqual(Object.fromEntries(known), left)
  })
}
