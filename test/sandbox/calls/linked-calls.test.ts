import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type LinkMessage, postToLink, readFromLink } from '../../../src/schema/worker/call-frames.ts'
import { createCells, linkCells, signalCells } from '../../../src/schema/worker/shared-cells.ts'
import type { PluginCall, Reference } from '../../../src/schema/worker/plugin-call.ts'
import { createLinkedCalls } from '../../../src/sandbox/worker/calls/linked-calls.ts'
import type { ReceivedCall } from '../../../src/sandbox/worker/calls/local-calls.ts'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

const text = new TextEncoder()
const instance = (owner: number): Reference => ({ owner, handle: 0, type: 'table', plugin: '@test/p' })

/** One worker's end of a link between isolate 1, which is here, and isolate 2; the other end is the test's. */
function stage(context: TestContext, isCaller: boolean) {
  const { port1, port2: other } = new MessageChannel()
  context.after(() => {
    port1.close()
    other.close()
  })
  const cells = createCells(linkCells)
  const signal = createCells(signalCells)
  const did: unknown[] = []
  const received: ReceivedCall[] = []
  let number = 100
  const calls = createLinkedCalls({
    post: (message) => did.push(message),
    nextNumber: () => (number += 1),
    receive: (call) => received.push(call),
    received: () => did.push('received'),
    cancel: (isolate, call) => did.push(['cancel', isolate, call]),
    answered: (answer) => did.push(answer),
    refuse: (isolate, references) => did.push(['refuse', isolate, references]),
  })
  calls.notice({
    ...{ kind: 'link', isolate: 1, peer: 2, plugin: '@test/other', isCaller },
    ...{ port: port1 as MessagePort, signal, cells },
  })

  function say(message: unknown, isCounted = true): void {
    if (typeof message === 'object' && message !== null && 'serialized' in message)
      postToLink(other, message as LinkMessage)
    else other.postMessage(message)
    const { fromCaller, fromCallee } = linkCells
    if (isCounted) Atomics.add(new Int32Array(cells), isCaller ? fromCallee : fromCaller, 1)
  }

  const heard = (): (LinkMessage | undefined)[] => {
    const messages: (LinkMessage | undefined)[] = []
    for (let next = receiveMessageOnPort(other); next !== undefined; next = receiveMessageOnPort(other))
      messages.push(readFromLink((next as { message: unknown }).message))
    return messages
  }
  return { calls, did, received, say, heard, signal }
}

const body = (value: string): { body: Uint8Array; references: Reference[] } => ({
  body: text.encode(value),
  references: [],
})
const question = (overrides: Partial<PluginCall> = {}): PluginCall => ({
  ...{ kind: 'callPlugin', owner: 2, handle: 0, operation: 'invoke', depth: 1 },
  serialized: { body: text.encode('arguments'), references: [instance(2)] },
  ...overrides,
})

test('a caller sends what hands nothing over, and takes the answers to what it has asked', (context) => {
  const { calls, did, say, heard, signal } = stage(context, true)
  assert.equal(calls.send(1, 7, question()), true)
  assert.equal(Atomics.load(new Int32Array(signal), signalCells.received), 1)
  const refused: PluginCall[] = [
    question({ handle: 3 }),
    question({ owner: 5 }),
    question({ background: true }),
    question({ serialized: { ...body(''), references: [{ ...instance(1), handle: 4 }] } }),
  ]
  for (const each of refused) assert.equal(calls.send(1, 8, each), false, JSON.stringify(each))
  assert.equal(calls.send(3, 8, question()), false)
  const [sent, ...none] = heard()
  assert.deepEqual(none, [])
  assert.equal(sent?.kind, 'call')
  assert.equal(sent.number, 7)
  // What it has not asked, what hands something over, and what no link carries.
  say({ kind: 'answer', number: 8, serialized: body('not asked') })
  say({ kind: 'answer', number: 7, serialized: { ...body('a thing'), references: [instance(2)] } })
  say({ kind: 'call', number: 7, operation: 'invoke', depth: 1, serialized: body('no call') })
  for (const nonsense of ['', 'x'.repeat(5_000), new Uint8Array(3), { kind: 'answer', number: 7 }, null])
    say(nonsense)
  calls.drain()
  assert.deepEqual(did, [])
  say({ kind: 'answer', number: 7, serialized: body('result') })
  say({ kind: 'answer', number: 7, serialized: body('again') })
  calls.drain()
  assert.deepEqual(did, [{ kind: 'answer', isolate: 1, number: 7, ok: true, value: body('result') }])
})

test('a caller hears of a failure, and cancels what it does not wait for any more', (context) => {
  const { calls, did, say, heard } = stage(context, true)
  calls.send(1, 7, question())
  calls.send(1, 8, question())
  heard()
  assert.equal(calls.abandon(9), false)
  assert.equal(calls.abandon(8), true)
  assert.deepEqual(
    heard().map((message) => [message?.kind, message?.number]),
    [['cancel', 8]],
  )
  say({ kind: 'failure', number: 7, serialized: body('no such lamp') })
  say({ kind: 'answer', number: 8, serialized: body('too late') })
  calls.drain()
  assert.deepEqual(did, [
    {
      kind: 'answer',
      isolate: 1,
      number: 7,
      ok: false,
      message: '@test/other: no such lamp',
      gone: undefined,
    },
  ])
})

test('what has been answered before the callee ended is taken, and the rest fails', (context) => {
  const { calls, did, say } = stage(context, true)
  calls.send(1, 7, question())
  calls.send(1, 8, question())
  say({ kind: 'answer', number: 7, serialized: body('result') })
  calls.notice({ kind: 'unlink', isolate: 1, peer: 2 })
  const message = 'plugin not running: @test/other'
  assert.deepEqual(did, [
    { kind: 'answer', isolate: 1, number: 7, ok: true, value: body('result') },
    { kind: 'answer', isolate: 1, number: 8, ok: false, message, gone: 2 },
  ])
  assert.equal(calls.send(1, 9, question()), false)
})

test('an answer by way of the host is taken once, and of nobody but the callee', (context) => {
  const { calls, did } = stage(context, true)
  calls.send(1, 7, question())
  const serialized = { ...body('a thing'), references: [instance(2)] }
  const answer = { kind: 'linkedAnswer', isolate: 1, number: 7, outcome: { ok: true, serialized } } as const
  calls.notice({ ...answer, peer: 3 })
  calls.notice({ ...answer, peer: 2 })
  calls.notice({ ...answer, peer: 2 })
  assert.deepEqual(did, [
    ['refuse', 1, [instance(2)]],
    { kind: 'answer', isolate: 1, number: 7, ok: true, value: serialized },
    ['refuse', 1, [instance(2)]],
  ])
})

test('a callee takes nothing but calls of its instance, in the name that the host has given', (context) => {
  const { calls, did, received, say } = stage(context, false)
  const call = { kind: 'call', operation: 'invoke', depth: 1, serialized: question().serialized } as const
  const bad = [
    { ...call, depth: 0 },
    { ...call, depth: 33 },
    { ...call, serialized: { ...body(''), references: [{ ...instance(1), handle: 4 }] } },
    { ...call, serialized: { ...body(''), references: [instance(2)] } },
    { ...call, kind: 'answer' as const },
    { ...call, kind: 'question' as const },
  ]
  for (const each of bad) say({ ...each, number: 5 })
  for (const nonsense of ['', 'x'.repeat(5_000), new Uint8Array(3), { kind: 'call', number: 7 }, 7])
    say(nonsense)
  calls.drain()
  assert.deepEqual([received, did], [[], []])
  const good = { ...call, serialized: { ...body('arguments'), references: [instance(1)] } }
  say({ ...good, number: 5 })
  say({ ...good, number: 5 })
  calls.drain()
  const [taken, ...others] = received
  assert.deepEqual(others, [])
  assert.deepEqual(
    [taken?.isolate, taken?.caller, taken?.callerIsolate, taken?.handle, taken?.call],
    [1, '@test/other', 2, 0, -101],
  )
})

test('a callee answers plain values on the link, and has the host count the rest', (context) => {
  const { calls, did, received, say, heard } = stage(context, false)
  const call = { kind: 'call', operation: 'invoke', depth: 1, serialized: body('') } as const
  for (const number of [5, 6, 7, 8, 9]) say({ ...call, number })
  calls.drain()
  const [first, second, third, fourth, fifth] = received
  assert.ok(first && second && third && fourth && fifth)
  calls.answer(first, { ok: true, serialized: body('result') }, true)
  calls.answer(second, { ok: false, message: 'no such lamp' }, true)
  assert.deepEqual(
    heard().map((message) => [message?.kind, message?.number, message?.serialized.body.length]),
    [
      ['answer', 5, 6],
      ['failure', 6, 12],
    ],
  )
  const things = { ...body(''), references: [{ ...instance(1), handle: 4 }] }
  calls.answer(third, { ok: true, serialized: things }, true)
  calls.answer(fourth, { ok: true, serialized: body('result') }, false)
  const kind = 'linkedAnswer'
  assert.deepEqual(did, [
    { kind, isolate: 1, caller: 2, number: 7, outcome: { ok: true, serialized: things } },
    { kind, isolate: 1, caller: 2, number: 8, outcome: { ok: true, serialized: body('result') } },
  ])
  // The caller has ended: what has not begun is left out, and what is handed over still has to be counted.
  calls.notice({ kind: 'unlink', isolate: 1, peer: 2 })
  assert.deepEqual(did[2], ['cancel', 1, fifth.call])
  calls.answer(fifth, { ok: false, message: 'cancelled' }, true)
  assert.equal(did.length, 3)
  calls.answer(fifth, { ok: true, serialized: things }, true)
  assert.equal(did.length, 4)
})

test('what comes while nobody asks is taken at once', async (context) => {
  const { did, say, received } = stage(context, false)
  const { port1, port2 } = new MessageChannel()
  say({ kind: 'call', operation: 'invoke', depth: 1, number: 5, serialized: body('') })
  // Comes after it: both wait for the same turn of the event loop.
  port1.postMessage('after')
  await once(port2, 'message')
  port1.close()
  assert.equal(received.length, 1)
  assert.deepEqual(did, ['received'])
})

test('§9 many plugins that call each other get their answers and their events while some come and go', async () => {
  const count = 8
  const lua = (self: number): string => `
    function plugin:next(n) return n + 1 end
    plugin:setInterval(1, function()
      for other = 1, ${count} do
        local peer = other ~= ${self} and Plugin.get("@test/p" .. other)
        local ok, answer = true, 42
        if peer then ok, answer = pcall(function() return peer:next(41) end) end
        if answer ~= 42 and not tostring(answer):find("plugin not running", 1, true) then print("wrong", answer) end
      end
    end)
    plugin:on("ping", function(n) print("pong", n) end)`
  for (const isolation of ['dedicated', 'auto'] as const) {
    await withStage(
      async ({ load }) => {
        const plugins = await Promise.all(
          Array.from({ length: count }, (_, index) => load(`p${index + 1}`, lua(index + 1))),
        )
        for (let round = 0; round < 6; round += 1) {
          for (const { isolate } of plugins) isolate.deliverEvent('ping', json(round))
          await Promise.all(plugins.map(({ recorder }) => recorder.logged(`pong\t${round}`)))
          const index = (round * 3) % count
          await plugins[index]?.isolate.unload()
          plugins[index] = await load(`p${index + 1}`, lua(index + 1))
        }
        for (const { recorder } of plugins)
          assert.deepEqual(
            recorder.logs().filter((line) => !line.startsWith('info pong')),
            [],
            isolation,
          )
      },
      {},
      isolation,
    )
  }
})
