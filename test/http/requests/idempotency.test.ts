import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import { createIdempotency } from '../../../src/http/requests/idempotency.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { command, startHostFor, startTestHost, type TestHost } from '../../helpers/test-host.ts'

const request = (key: string, changes: { target?: string; body?: unknown } = {}) => ({
  key,
  target: 'POST /api/plugins/a/toggle',
  body: {},
  ...changes,
})

function counter() {
  const keys: string[] = []
  return { keys, act: async (requestKey: string) => keys.push(requestKey) }
}

test('repetitions act once and share the answer, also while the first is at work', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const { keys, act } = counter()
  const answers = await Promise.all([1, 2, 3].map(() => runOnce(request('k'), act)))
  assert.deepEqual([answers, await runOnce(request('k'), act), keys.length], [[1, 1, 1], 1, 1])
})

test('the name of a request is bound to its key, method and path', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const again = createIdempotency<number>(createManualClock())
  const { keys, act } = counter()
  await runOnce(request('k'), act)
  await runOnce(request('l'), act)
  await again(request('k', { target: 'POST /api/plugins/b/toggle' }), act)
  await createIdempotency<number>(createManualClock())(request('k'), act)
  assert.equal(new Set(keys.slice(0, 3)).size, 3)
  assert.equal(keys[3], keys[0], 'it is the same after a restart')
  assert.ok(keys.every((key) => /^[0-9a-f]{64}$/.test(key)))
})

test('a key that was used for another body or address is refused', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const { keys, act } = counter()
  await runOnce(request('k'), act)
  for (const changes of [{ body: { enabled: true } }, { target: 'POST /api/plugins/b/toggle' }]) {
    await assert.rejects(runOnce(request('k', changes), act), { code: 'body_invalid' })
  }
  assert.equal(keys.length, 1)
})

test('a refusal is an answer, a failure of the host is not', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const cases = [
    [new Problem('already_installed', 'There.'), 1],
    [new Problem('shutting_down', 'Later.'), 2],
    [new Error('broken'), 2],
  ] as const
  const calls: number[] = []
  for (const [index, [error]] of cases.entries()) {
    let count: number = 0
    const act = async (): Promise<number> => {
      count += 1
      throw error
    }
    await assert.rejects(runOnce(request(`k${index}`), act), error)
    await assert.rejects(runOnce(request(`k${index}`), act), error)
    calls.push(count)
  }
  assert.deepEqual(
    calls,
    cases.map(([, count]) => count),
  )
})

test('keys are visible ASCII of at most 255 characters', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const { act } = counter()
  await runOnce(request('~'.repeat(255)), act)
  for (const key of ['', ' ', 'a b', 'ä', 'x'.repeat(256), 'a\u0000']) {
    await assert.rejects(runOnce(request(key), act), { code: 'body_invalid' }, key)
  }
})

test('an answer is forgotten after a day, and the least recently used after a thousand others', async () => {
  const clock = createManualClock()
  const runOnce = createIdempotency<number>(clock)
  const { keys, act } = counter()
  await runOnce(request('old'), act)
  clock.advance(24 * 60 * 60 * 1_000 - 1)
  await runOnce(request('old'), act)
  assert.equal(keys.length, 1)
  clock.advance(1)
  await runOnce(request('old'), act)
  assert.equal(keys.length, 2)
  await runOnce(request('idle'), act)
  for (let index = 0; index < 1_000; index += 1) {
    await runOnce(request('old'), act)
    await runOnce(request(`other ${index}`.replace(' ', '-')), act)
  }
  const before = keys.length
  await runOnce(request('old'), act)
  assert.equal(keys.length, before, 'what is in use stays')
  await runOnce(request('idle'), act)
  assert.equal(keys.length, before + 1, 'what is not in use goes')
})

test('a request that is still at work after a day, and after a thousand others, is not done once more', async () => {
  const clock = createManualClock()
  const runOnce = createIdempotency<number>(clock)
  const { keys, act } = counter()
  let finish = (_answer: number): void => undefined
  const first = runOnce(request('slow'), () => new Promise((resolve) => (finish = resolve)))
  for (let index = 0; index < 1_001; index += 1) await runOnce(request(`other-${index}`), act)
  clock.advance(24 * 60 * 60 * 1_000)
  const before = keys.length
  const again = runOnce(request('slow'), act)
  finish(-1)
  assert.deepEqual([await first, await again, keys.length], [-1, -1, before])
})

test('of large requests fewer are remembered, those in use the longest', async () => {
  const runOnce = createIdempotency<number>(createManualClock())
  const { keys, act } = counter()
  const large = (key: string) => request(key, { body: { text: 'x'.repeat(1024 * 1024) } })
  for (let index = 0; index < 40; index += 1) {
    await runOnce(request('small'), act)
    await runOnce(large(`large-${index}`), act)
  }
  const before = keys.length
  await runOnce(request('small'), act)
  await runOnce(large('large-39'), act)
  assert.equal(keys.length, before, 'the latest and what is in use stay')
  await runOnce(large('large-0'), act)
  assert.equal(keys.length, before + 1, 'the oldest goes')
})

test('a command that was repeated with its key acts once, over concurrency and a restart', async () => {
  let host = await startTestHost()
  try {
    const post = (path: string, key: string, body?: unknown) =>
      host.request('POST', path, {
        headers: { 'idempotency-key': key },
        ...(body === undefined ? {} : { body }),
      })
    const install = { fullId: '@fixtures/hello' }
    const installs = await Promise.all([1, 2, 3].map(() => post('/api/plugins/install', 'i-1', install)))
    assert.deepEqual(
      installs.map(({ status, body, headers }) => [
        status,
        body,
        headers.get('location'),
        headers.get('etag'),
      ]),
      installs.map(() => [201, installs[0]?.body, '/api/plugins/%40fixtures%2Fhello', '"2"']),
    )
    const first = await post('/api/plugins/@fixtures/hello/toggle', 't-1')
    const second = await post('/plugins/%40fixtures%2Fhello/toggle', 't-1')
    assert.deepEqual([first.status, first.body.enabled, second.body], [200, true, first.body])
    const other = await post('/api/plugins/@fixtures/hello/reload', 't-1')
    assert.deepEqual([other.status, other.body.code], [400, 'body_invalid'])

    host = await host.restart()
    const { seq } = (await host.request('GET', '/api/history')).body.events.at(-1)
    const installedAgain = await post('/api/plugins/install', 'i-1', install)
    const toggledAgain = await post('/api/plugins/@fixtures/hello/toggle', 't-1')
    assert.deepEqual(
      [installedAgain.status, installedAgain.headers.get('location')],
      [201, '/api/plugins/%40fixtures%2Fhello'],
    )
    assert.deepEqual([toggledAgain.status, toggledAgain.body.enabled], [200, true])
    const later = await host.request('GET', `/api/history?after=${seq}`)
    assert.deepEqual(later.body.events, [], 'nothing was done again')
  } finally {
    await host.close()
  }
})

test('an uninstallation and the removal of a repository act once, too, whoever asks again', async (context) => {
  const host = await startHostFor(context)
  const remove = (of: TestHost, path: string, key: string) =>
    of.request('DELETE', path, { headers: { 'idempotency-key': key } })
  await command(host, 'install', { fullId: '@fixtures/hello' })
  const hello = '/api/plugins/@fixtures/hello'
  const answers = [
    await remove(host, `${hello}?purge=kv`, 'u-1'),
    await remove(host, `/plugins/%40fixtures%2Fhello?purge=kv`, 'u-1'),
    await remove(host, `${hello}?purge=files`, 'u-1'),
    await remove(host, hello, 'u-2'),
    await remove(host, '/api/repositories/fixtures', 'r-1'),
    await remove(host, '/api/repositories/fixtures', 'r-1'),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 400, 404, 200, 200],
  )
  assert.deepEqual(answers[1]?.body, { id: '@fixtures/hello', state: 'uninstalled' })
  const again = await remove(await host.restart(), `${hello}?purge=kv`, 'u-1')
  assert.deepEqual([again.status, again.body], [200, answers[0]?.body])
})

test('a control that is set again under its key is set once', async (context) => {
  const lua = `local plugin = Plugin:new("door")
    local times = 0
    plugin:control("open", function() return times end, function() times = times + 1 end)`
  const host = await startHostFor(context, { plugins: [{ id: 'door', lua }] })
  await command(host, 'install', { fullId: '@fixtures/door' })
  await command(host, '@fixtures/door/toggle')
  const path = '/api/plugins/@fixtures/door/controls/open'
  for (const key of ['c-1', 'c-1', 'c-2'])
    await host.request('PUT', path, { body: { value: 1 }, headers: { 'idempotency-key': key } })
  const { body } = await host.request('GET', '/api/plugins/@fixtures/door/controls')
  assert.equal(body.controls[0].value, 2)
})
