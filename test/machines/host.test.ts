import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialTransition, transition } from 'xstate'
import { type HostEvent, host } from '../../machines/host.ts'
import type { HostFact } from '../../src/schema/journal/journal-event.ts'

const at = '2026-01-01T00:00:00.000Z'
const started: HostFact = { type: 'HostStarted', plugin: null, data: { host: 'h1', hostVersion: '1.0.0' } }
const ready: HostFact = { type: 'HostReady', plugin: null, data: {} }
const stopping: HostFact = { type: 'HostStopping', plugin: null, data: {} }
const stopped: HostFact = { type: 'HostStopped', plugin: null, data: {} }

function run(...facts: HostFact[]) {
  return facts.reduce(
    (snapshot, fact) => transition(host, snapshot, { ...fact, at } as HostEvent)[0],
    initialTransition(host)[0],
  )
}

test('the host goes from stopped over starting, ready and stopping back to stopped', () => {
  const values = [
    [],
    [started],
    [started, ready],
    [started, ready, stopping],
    [started, ready, stopping, stopped],
  ].map((facts) => run(...facts).value)
  assert.deepEqual(values, ['stopped', 'starting', 'ready', 'stopping', 'stopped'])
})

test('a start after a crash begins anew from any state and counts starts that did not get ready', () => {
  const crashed = run(started, ready, started, started)
  assert.deepEqual([crashed.value, crashed.context.unfinishedStarts], ['starting', 2])
  assert.equal(run(started, started, ready).context.unfinishedStarts, 0)
})

test('a start that somebody ended does not count as unfinished, one that went wrong does', () => {
  const failed: HostFact = { type: 'HostStopping', plugin: null, data: { failed: true } }
  const counts = [
    [started, stopping, stopped],
    [started, started, stopping, stopped],
    [started, failed, stopped],
    [started, started, started],
  ].map((facts) => run(...facts).context.unfinishedStarts)
  assert.deepEqual(counts, [0, 1, 1, 3])
})

test('a run that was killed for want of memory soon after ready counts like a start that did not get there, unless it was in safe mode or ended in order', () => {
  const soon: HostFact = { ...started, data: { ...started.data, afterMemoryKill: true } }
  const readyAt: HostFact = { ...ready, data: { machine: { boot: 'b', uptime: 5, memoryKills: 2 } } }
  const data = { reason: 'unfinishedStarts', unfinishedStarts: 3 } as const
  const entered: HostFact = { type: 'HostSafeModeEntered', plugin: null, data }
  const before = [
    [started, readyAt, soon],
    [started, readyAt, soon, readyAt, soon, readyAt, soon],
    // It is killed now before it is ready, now after.
    [started, readyAt, soon, started, readyAt, soon],
    // It lasted, or was ready in a version that did not say when.
    [started, readyAt, started],
    [started, readyAt, soon, ready, started],
    [started, readyAt, soon, readyAt, stopping, stopped, started],
    [started, readyAt, soon, readyAt, stopping, started],
    // Somebody ended the start.
    [started, readyAt, soon, stopping, stopped, started],
    [started, readyAt, soon, entered, readyAt, started],
  ].map((facts) => run(...facts).context.unfinishedStarts - 1)
  assert.deepEqual(before, [1, 3, 3, 0, 0, 0, 0, 1, 0])
  const last = [
    [started, ready],
    [started, readyAt],
    [started, readyAt, stopping],
    [started, entered, readyAt],
  ]
  assert.deepEqual(
    last.map((facts) => run(...facts).context.lastReady),
    [undefined, { boot: 'b', uptime: 5, memoryKills: 2, unfinishedStarts: 1 }, null, undefined],
  )
})

test('safe mode is entered in a start, left once, and over with the next start', () => {
  const entered: HostFact = {
    type: 'HostSafeModeEntered',
    plugin: null,
    data: { reason: 'unfinishedStarts', unfinishedStarts: 3 },
  }
  const left: HostFact = { type: 'HostSafeModeLeft', plugin: null, data: {} }
  const safe = run(started, entered, ready)
  assert.deepEqual(safe.context.safeMode, { since: at, reason: 'unfinishedStarts', unfinishedStarts: 3 })
  assert.equal(safe.context.unfinishedStarts, 0)
  assert.equal(run(started, entered, ready, left).context.safeMode, null)
  assert.equal(run(started, entered, ready, started).context.safeMode, null)
  assert.equal(run(started, ready).can({ ...left, at } as HostEvent), false)
})

test('repositories are added, replaced by name, and removed', () => {
  const added = (name: string, url: string): HostFact => ({
    type: 'RepositoryAdded',
    plugin: null,
    data: { name, url },
  })
  const removed: HostFact = { type: 'RepositoryRemoved', plugin: null, data: { name: 'a' } }
  assert.deepEqual(run(added('a', '1'), added('b', '2'), added('b', '3'), removed).context.repositories, [
    { name: 'b', url: '3' },
  ])
})

test('a repository keeps the latest time of a signature, over another address, but not for another key', () => {
  const publicKey = 'RWQafVbMbfi+2RTqMUQ2aSzOBHy76uhMGmujIeVCk6zwa7SHBQmwe8rK'
  const otherKey = publicKey.replace('K', 'L')
  const added = (data: { url: string; publicKey?: string; signedAt?: number }): HostFact => ({
    type: 'RepositoryAdded',
    plugin: null,
    data: { name: 'a', ...data },
  })
  const accepted = (signedAt: number, name = 'a'): HostFact => ({
    type: 'RepositoryIndexAccepted',
    plugin: null,
    data: { name, signedAt },
  })
  const removed: HostFact = { type: 'RepositoryRemoved', plugin: null, data: { name: 'a' } }
  const first = added({ url: '1', publicKey, signedAt: 5 })
  for (const [facts, expected] of [
    [[first], { url: '1', publicKey, signedAt: 5 }],
    [[first, accepted(7), accepted(6)], { url: '1', publicKey, signedAt: 7 }],
    [[first, accepted(7, 'b')], { url: '1', publicKey, signedAt: 5 }],
    [[first, accepted(7), added({ url: '2', publicKey })], { url: '2', publicKey, signedAt: 7 }],
    [[first, accepted(7), added({ url: '2', publicKey, signedAt: 6 })], { url: '2', publicKey, signedAt: 7 }],
    [[first, added({ url: '2', publicKey, signedAt: 9 })], { url: '2', publicKey, signedAt: 9 }],
    [[first, added({ url: '1', publicKey: otherKey })], { url: '1', publicKey: otherKey }],
    [[first, added({ url: '1' })], { url: '1' }],
    [[first, removed, added({ url: '1', publicKey })], { url: '1', publicKey }],
  ] as const) {
    assert.deepEqual(run(...facts).context.repositories, [{ name: 'a', ...expected }])
  }
})
