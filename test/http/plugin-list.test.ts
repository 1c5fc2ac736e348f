import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startHostFor, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** The list is kept as JSON while nothing changes: what it says is held against what each plugin says of itself. */

async function startedHost(context: TestContext): Promise<TestHost> {
  return await startHostFor(context)
}

async function listed(host: TestHost, query = ''): Promise<{ id: string; resources: { timers: number } }[]> {
  return (await host.request('GET', `/api/plugins${query}`)).body.plugins
}

test('the list says at any time what each of its plugins says', async (context) => {
  const host = await startedHost(context)
  assert.deepEqual(await listed(host), [])
  const steps: (() => Promise<{ status: number }>)[] = [
    () => host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } }),
    () => host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } }),
    () =>
      host.request('POST', '/api/plugins/hello/config', {
        body: { config: { name: '12345678901234567890' } },
      }),
    () => host.request('POST', '/api/plugins/demo/toggle', { body: { enabled: true } }),
    () => host.request('POST', '/api/plugins/demo/toggle', { body: { enabled: false } }),
    () => host.request('DELETE', '/api/plugins/hello'),
  ]
  for (const step of steps) {
    const { status } = await step()
    assert.ok(status < 300, String(status))
    const plugins = await listed(host)
    for (const plugin of plugins)
      assert.deepEqual(
        plugin,
        (await host.request('GET', `/api/plugins/${encodeURIComponent(plugin.id)}`)).body,
      )
    assert.deepEqual(await listed(host), plugins)
  }
  assert.deepEqual(
    (await listed(host)).map(({ id }) => id),
    ['@fixtures/demo'],
  )
})

test('what a plugin holds is in the list when it holds it, without a fact in between', async (context) => {
  const host = await startedHost(context)
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  await listed(host)
  await host.request('POST', '/api/plugins/demo/toggle', { body: { enabled: true } })
  const timers = await until('its timer is counted', async () => {
    const [demo] = await listed(host)
    return demo?.resources.timers
  })
  assert.equal(timers, 1)
})

test('a list that is filtered does not stay for the whole one', async (context) => {
  const host = await startedHost(context)
  for (const id of ['hello', 'demo'])
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
  const ids = async (query = ''): Promise<string[]> => (await listed(host, query)).map(({ id }) => id)
  assert.deepEqual(await ids(), ['@fixtures/demo', '@fixtures/hello'])
  assert.deepEqual(await ids('?tag=greeting'), ['@fixtures/hello'])
  assert.deepEqual(await ids(), ['@fixtures/demo', '@fixtures/hello'])
})
