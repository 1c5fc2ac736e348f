import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFleetHooks, type SentHook } from '../../../../src/host/fleet/commands/fleet-hooks.ts'
import { createHookRequests } from '../../../../src/sandbox/isolates/hook-requests.ts'
import type { HookOutcome } from '../../../../src/schema/outside/hook.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'

const sent: SentHook = [
  ...(['home', 'lamp', 'toggle'] as const),
  { method: 'GET', query: '', headers: [], body: '', remote: '192.0.2.1' },
]

/** The host that has the plugin, whose worker is the test: it answers when it is told to, or that nobody waits any more. */
function holder() {
  const clock = createManualClock()
  const worker = createHookRequests()
  const open = new Set<number>()
  const end = (request: number, outcome: HookOutcome): void => {
    if (open.delete(request)) worker.answered(request, outcome)
  }
  const hooks = createFleetHooks({
    lifecycle: {
      findHook: () => ({
        ...{ plugin: '@home/lamp', auth: 'none', methods: undefined },
        take: (_request, signal) =>
          worker.ask(
            signal,
            (request) => void open.add(request),
            (request) => end(request, { ok: false, reason: 'ended' }),
          ),
      }),
    },
    hostOf: () => undefined,
    ask: () => assert.fail('no other host is asked'),
    clock,
  })
  return { clock, hooks, open, end }
}

test('a handler that never answers a request by way of another host has it no longer than any other', async () => {
  const { clock, hooks, open } = holder()
  const answer = hooks.answerTake(sent)
  assert.equal(open.size, 1)
  clock.advance(10_000)
  assert.equal(open.size, 0)
  assert.deepEqual(await answer, { ok: false, reason: 'ended' })
})

test('what a handler answers goes to the other host, and nothing waits for it any more', async () => {
  const { clock, hooks, end } = holder()
  const answer = hooks.answerTake(sent)
  end(1, { ok: true, status: 200, headers: [], body: Uint8Array.from(Buffer.from('on')) })
  assert.deepEqual(await answer, { ok: true, status: 200, headers: [], body: 'b24=' })
  assert.equal(clock.waiting, 0)
})
