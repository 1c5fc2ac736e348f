import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHookRequests } from '../../../src/sandbox/isolates/hook-requests.ts'
import type { HookOutcome } from '../../../src/schema/outside/hook.ts'

const ended: HookOutcome = { ok: false, reason: 'ended' }
const failed: HookOutcome = { ok: false, reason: 'failed' }

function createStage() {
  const requests = createHookRequests()
  const said: string[] = []
  return {
    ...{ requests, said },
    ask: (signal = new AbortController().signal) =>
      requests.ask(
        signal,
        (request) => void said.push(`send ${request}`),
        (request) => void said.push(`give up ${request}`),
      ),
  }
}

test('each request has its own answer, whichever comes first, and only the first one counts', async () => {
  const { requests, said, ask } = createStage()
  const answers = [ask(), ask()]
  requests.answered(2, failed)
  requests.answered(2, ended)
  requests.answered(3, failed)
  requests.answered(1, ended)
  assert.deepEqual(await Promise.all(answers), [ended, failed])
  assert.deepEqual(said, ['send 1', 'send 2'])
})

test('a plugin hears that nobody waits any more, unless it has answered before', async () => {
  const { requests, said, ask } = createStage()
  const [early, late] = [new AbortController(), new AbortController()]
  const left = ask(early.signal)
  early.abort()
  const answered = ask(late.signal)
  requests.answered(2, failed)
  assert.deepEqual(await answered, failed)
  late.abort()
  assert.deepEqual(await ask(late.signal), ended)
  assert.deepEqual(said, ['send 1', 'give up 1', 'send 2'])
  requests.answered(1, ended)
  assert.deepEqual(await left, ended)
})

test('when the plugin ends so does every request, and no other is sent', async () => {
  const { requests, said, ask } = createStage()
  const asked = [ask(), ask()]
  requests.endAll()
  requests.answered(1, failed)
  assert.deepEqual(await Promise.all([...asked, ask()]), [ended, ended, ended])
  assert.deepEqual(said, ['send 1', 'send 2'])
})
