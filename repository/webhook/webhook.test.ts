import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

async function start(
  t: TestContext,
  requests: Json[],
): Promise<{ plugin: StarterPlugin; ask(path: string, options?: RequestInit): Promise<Response> }> {
  const plugin = await startStarterPlugin('webhook', { requests })
  t.after(() => plugin.close())
  return {
    plugin,
    async ask(path, options) {
      const [bare = '', query = ''] = path.split('?')
      const { body } = await plugin.host.request('GET', '/api/plugins/webhook/hooks')
      const hook = body.hooks.find((one: { path: string }) => one.path === bare)
      assert.ok(hook !== undefined, `no address for ${bare}`)
      return fetch(`${hook.url}?${query}`, options)
    },
  }
}

const json = (value: Json): RequestInit => ({ method: 'POST', body: JSON.stringify(value) })

test('a request becomes an event with all of it, and is counted', async (t) => {
  const { plugin, ask } = await start(t, [{ path: 'doorbell' }])
  const events = await plugin.listen(`${plugin.topic}/events/webhook:doorbell`)
  const answer = await ask('doorbell?door=front', json({ by: 'me' }))
  assert.deepEqual([answer.status, await answer.text()], [200, 'ok'])
  assert.deepEqual(await events.nextValue(), {
    ...{ method: 'POST', query: { door: 'front' }, json: { by: 'me' }, remote: '127.0.0.1' },
  })
  assert.equal((await plugin.sensors()).requests, 1)
  const last = (await plugin.objects())['last.doorbell']
  assert.deepEqual([last?.method, last?.from], ['POST', '127.0.0.1'])
})

test('a template says what is told, to the event, the topic and whoever asks', async (t) => {
  const { plugin, ask } = await start(t, [
    {
      ...{ path: 'a/b', event: 'door:rang', topic: 'door/bell' },
      ...{ text: '{{ json.user.name | upper }} at {{ query.door }}', answer: 'hello {{ json.user.name }}' },
    },
  ])
  const events = await plugin.listen(`${plugin.topic}/events/door:rang`)
  const messages = await plugin.listen('door/bell')
  const answer = await ask('a/b?door=front', json({ user: { name: 'Ann' } }))
  assert.equal(await answer.text(), 'hello Ann')
  assert.deepEqual(await events.nextValue(), { text: 'ANN at front' })
  assert.equal((await messages.next()).payload, 'ANN at front')
})

test('without a template the message is what came', async (t) => {
  const { plugin, ask } = await start(t, [{ path: 'x', topic: 'x' }])
  const messages = await plugin.listen('x')
  await ask('x', { method: 'POST', body: 'plain' })
  assert.equal((await messages.next()).payload, 'plain')
  await ask('x', { method: 'POST', body: new URLSearchParams({ a: '1' }) })
  assert.equal((await messages.next()).payload, '{"a":"1"}')
})

test('a row takes one method alone, or wants the token of the host', async (t) => {
  const { ask } = await start(t, [
    { path: 'put', method: 'PUT' },
    { path: 'locked', locked: true },
  ])
  assert.equal((await ask('put')).status, 405)
  assert.equal((await ask('put', { method: 'PUT' })).status, 200)
  assert.equal((await ask('locked')).status, 401)
})

test('a row that cannot be used is left out, and the others work', async (t) => {
  const { plugin, ask } = await start(t, [
    { path: 'bad', text: '{{ json. | no }}' },
    { path: 'a/../b' },
    { path: 'good' },
  ])
  assert.equal((await ask('good')).status, 200)
  const errors = await plugin.logs('error')
  assert.match(errors[0] ?? '', /^Request 1 \(bad\) is left out: text: /)
  assert.match(errors[1] ?? '', /^Request 2 \(a\/\.\.\/b\) is left out: /)
  assert.equal(errors.length, 2)
})
