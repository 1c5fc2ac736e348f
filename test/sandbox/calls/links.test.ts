import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import type { PluginCall, Reference } from '../../../src/schema/worker/plugin-call.ts'
import type { UrgentMessage } from '../../../src/schema/worker/worker-protocol.ts'
import type { Reply } from '../../../src/sandbox/calls/pending-requests.ts'
import { createPluginCalls, type Peer } from '../../../src/sandbox/calls/plugin-calls.ts'

/** The host's part of calls on links: who gets one, and what it counts. */

const reply = (): Reply => ({
  succeed: () => undefined,
  fail: () => undefined,
  isWanted: () => true,
  whenAbandoned: () => undefined,
})

function stage(context: TestContext) {
  const calls = createPluginCalls()
  const said: [isolate: number, message: UrgentMessage][] = []
  const ports: MessagePort[] = []
  context.after(() => {
    for (const port of ports) port.close()
  })

  function join(isolate: number, overrides: Partial<Peer> = {}): void {
    calls.join({
      isolate,
      id: `@test/p${isolate}`,
      worker: isolate,
      signal: new SharedArrayBuffer(8),
      isLimited: false,
      post(message, transfer = []) {
        said.push([isolate, message])
        ports.push(...transfer)
      },
      serving: () => 0,
      charged: () => undefined,
      refuseUse: () => undefined,
      ...overrides,
    })
    calls.publish(isolate, true)
    calls.find(1, `@test/p${isolate}`, reply())
  }

  const linked = (): unknown[] =>
    said.flatMap(([isolate, message]) =>
      message.kind === 'link' ? [[isolate, message.peer, message.plugin, message.isCaller]] : [],
    )

  function call(owner: number, overrides: Partial<PluginCall> = {}): void {
    const serialized = { body: new Uint8Array(), references: [] }
    calls.call(
      1,
      { kind: 'callPlugin', owner, handle: 0, operation: 'call', depth: 1, serialized, ...overrides },
      reply(),
    )
  }
  return { calls, said, join, call, linked }
}

test('who calls the instance of a plugin in another worker again gets a link to it, once', (context) => {
  const { join, call, linked } = stage(context)
  join(1)
  join(2)
  call(2)
  assert.deepEqual(linked(), [])
  call(2)
  call(2)
  assert.deepEqual(linked(), [
    [2, 1, '@test/p1', false],
    [1, 2, '@test/p2', true],
  ])
})

test('there is no link within a worker, where an owner has set limits, nor for who only calls functions', (context) => {
  const { calls, join, call, linked } = stage(context)
  join(1)
  join(2, { worker: 1 })
  join(3, { isLimited: true })
  join(4)
  const given: Reference = { owner: 4, handle: 7, type: 'function', plugin: '@test/p4' }
  calls.handOver(4, 1, [given], reply())
  for (let time = 0; time < 3; time += 1) {
    call(2)
    call(3)
    call(4, { handle: 7 })
  }
  assert.deepEqual(linked(), [])
})

test('a plugin has a bounded number of links', (context) => {
  const { join, call, linked } = stage(context)
  join(1)
  for (let isolate = 2; isolate < 102; isolate += 1) {
    join(isolate)
    call(isolate)
    call(isolate)
  }
  assert.equal(linked().length, 2 * 64)
})

test('the end of a plugin ends its links, and the other ends hear of it', (context) => {
  const { calls, said, join, call } = stage(context)
  for (const isolate of [1, 2, 3]) join(isolate)
  for (const isolate of [2, 2, 3, 3]) call(isolate)
  const unlinked = (): unknown[] =>
    said.flatMap(([isolate, message]) => (message.kind === 'unlink' ? [[isolate, message.peer]] : []))
  calls.leave(2)
  assert.deepEqual(unlinked(), [[1, 2]])
  calls.leave(1)
  assert.deepEqual(unlinked(), [
    [1, 2],
    [3, 1],
  ])
  calls.leave(3)
  assert.equal(unlinked().length, 2)
})

test('what is handed over on a link is counted, and only where there is one', (context) => {
  const { calls, said, join, call } = stage(context)
  for (const isolate of [1, 2, 3]) join(isolate)
  call(2)
  call(2)
  const held = calls.references
  const serialized = {
    body: new Uint8Array(),
    references: [{ owner: 2, handle: 5, type: 'function' as const, plugin: '@test/p2' }],
  }
  const answers = (): unknown[] =>
    said.flatMap(([isolate, message]) =>
      message.kind === 'linkedAnswer' ? [[isolate, message.peer, message.number, message.outcome.ok]] : [],
    )
  calls.answeredOnLink(2, 1, 9, { ok: true, serialized })
  assert.deepEqual(answers(), [[1, 2, 9, true]])
  assert.equal(calls.references, held + 1)
  // Somebody else's, of which it has nothing.
  const foreign = [{ owner: 3, handle: 5, type: 'function' as const, plugin: '@test/p3' }]
  calls.answeredOnLink(2, 1, 10, { ok: true, serialized: { ...serialized, references: foreign } })
  assert.deepEqual(answers()[1], [1, 2, 10, false])
  // No link leads from 1 to 3, nor back from 1 to 2.
  calls.answeredOnLink(3, 1, 11, { ok: true, serialized: { ...serialized, references: foreign } })
  calls.answeredOnLink(1, 2, 12, { ok: true, serialized })
  assert.equal(answers().length, 2)
  assert.equal(calls.references, held + 1)
})

test('who calls on a link pays for what the callee has to do, and nobody else', (context) => {
  const { calls, join, call } = stage(context)
  for (const isolate of [1, 2, 3]) join(isolate)
  call(2)
  call(2)
  assert.equal(calls.servedBy(2, -1)?.id, '@test/p1')
  assert.equal(calls.servedBy(2, -3), undefined)
  assert.equal(calls.servedBy(3, -1), undefined)
})
