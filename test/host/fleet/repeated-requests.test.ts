import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TestHost } from '../../helpers/test-host.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { install, startFleetStage } from './fleet-stage.ts'

/** The same `Idempotency-Key` at several hosts of a fleet. */

const demo = '/api/plugins/demo'

async function startTwo(t: TestContext) {
  const stage = await startFleetStage(t, standardFixtures)
  const [a, b] = [await stage.start('a'), await stage.start('b')]
  await install(a, '@fixtures/demo')
  const send =
    (key: string) =>
    async (host: TestHost, path: string, body: object = {}): Promise<{ status: number; body: any }> => {
      const answer = await host.request('POST', path, { body, headers: { 'idempotency-key': key } })
      return { status: answer.status, body: answer.body }
    }
  const countOf = async (type: string): Promise<number> => {
    const { events } = (await a.request('GET', '/api/history?limit=1000')).body
    return events.filter((event: { type: string }) => event.type === type).length
  }
  return { stage, a, b, send, countOf }
}

test('a request that comes to several hosts at the same time acts once, and all give the same answer', async (t) => {
  const { a, b, send, countOf } = await startTwo(t)
  for (const round of [1, 2, 3, 4]) {
    const before = [await countOf('PluginEnabled'), await countOf('PluginDisabled')]
    const flip = send(`flip-${round}`)
    const answers = await Promise.all([b, a, b, a].map((host) => flip(host, `${demo}/toggle`)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    const after = [await countOf('PluginEnabled'), await countOf('PluginDisabled')]
    const isOn = round % 2 === 0
    assert.deepEqual(after, [(before[0] ?? 0) + (isOn ? 1 : 0), (before[1] ?? 0) + (isOn ? 0 : 1)])
  }
  const url = (await a.request('GET', '/api/repositories')).body.repositories.find(
    ({ name }: { name: string }) => name === 'fixtures',
  ).url
  const add = send('add')
  const added = await Promise.all(
    [a, b].map((host) => add(host, '/api/repositories', { name: 'again', url })),
  )
  assert.equal(added[0]?.status, 201)
  assert.deepEqual(added[1], added[0])
  const put = send('install')
  const installed = await Promise.all(
    [b, a].map((host) =>
      put(host, '/api/plugins/install', { fullId: '@fixtures/hello', repository: 'fixtures' }),
    ),
  )
  assert.equal(installed[0]?.status, 201)
  assert.deepEqual(installed[1], installed[0])
})

test('a request that comes again by way of another host acts no more, and gets the answer of the first time', async (t) => {
  const { a, b, send, countOf } = await startTwo(t)
  const on = send('on')
  const first = await on(a, `${demo}/toggle`, { enabled: true })
  assert.deepEqual([first.status, first.body.enabled], [200, true])
  await a.request('POST', `${demo}/toggle`, { body: { enabled: false } })
  // It left no fact behind: it was on already.
  assert.deepEqual(await on(b, `${demo}/toggle`, { enabled: true }), first)
  assert.equal((await a.request('GET', demo)).body.enabled, false)

  // A refusal is an answer, too.
  const early = send('early')
  const refused = await early(b, '/api/plugins/hello/toggle')
  assert.deepEqual([refused.status, refused.body.code], [404, 'plugin_not_installed'])
  await install(a, '@fixtures/hello')
  const again = await early(a, '/api/plugins/hello/toggle')
  assert.deepEqual(
    [again.status, again.body.code, again.body.detail],
    [404, refused.body.code, refused.body.detail],
  )
  assert.equal((await a.request('GET', '/api/plugins/hello')).body.enabled, true)

  const drain = send('drain')
  const drained = await drain(a, '/api/hosts/b/drain')
  await a.request('DELETE', '/api/hosts/b/drain')
  assert.deepEqual(await drain(b, '/api/hosts/b/drain'), drained)
  assert.equal(await countOf('HostDrainRequested'), 1)
})

test('a key that was used for another request is refused by every host', async (t) => {
  const { a, b, send } = await startTwo(t)
  const used = send('used')
  assert.equal((await used(a, `${demo}/reload`)).status, 200)
  for (const host of [a, b])
    for (const [path, body] of [
      [`${demo}/toggle`, {}],
      ['/api/plugins/install', { fullId: '@fixtures/hello' }],
    ] as const) {
      const refused = await used(host, path, body)
      assert.deepEqual([refused.status, refused.body.code], [400, 'body_invalid'], path)
    }
  const config = send('config')
  assert.equal((await config(b, `${demo}/config`, { config: { a: 1 } })).status, 200)
  assert.equal((await config(a, `${demo}/config`, { config: { a: 2 } })).status, 400)
})

test('what a host has answered that is gone is known to the one that asked it', async (t) => {
  const { stage, a, b, send } = await startTwo(t)
  const c = await stage.start('c')
  const on = send('on')
  const first = await on(a, `${demo}/toggle`, { enabled: true })
  assert.deepEqual(await on(b, `${demo}/toggle`, { enabled: true }), first)
  await a.host.close()
  assert.deepEqual(await on(c, `${demo}/toggle`, { enabled: true }), first)
})
