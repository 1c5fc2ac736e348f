import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { command, startHostFor, type TestHost } from '../helpers/test-host.ts'

/** Plugins that need each other: none of them can be installed first, and the refusal says so. */

const plugin = (id: string, version: string, ...dependencies: unknown[]): FixturePlugin => ({
  ...{ id, version, lua: `Plugin:new("${id}")` },
  manifest: { dependencies },
})

async function refusal(host: TestHost, path: string, body: object): Promise<string> {
  const { status, body: problem } = await host.request('POST', `/api/plugins/${path}`, { body })
  assert.deepEqual([status, problem.code], [422, 'dependency_unmet'])
  return problem.detail
}

const install = (host: TestHost, id: string): Promise<string> =>
  refusal(host, 'install', { fullId: `@fixtures/${id}` })

const end =
  ': they need each other in a circle, so none of them can come first. Their authors have to make one of these dependencies ' +
  'optional: {"id": …, "optional": true}.'

test('the refusal of plugins that need each other names the circle, also one of three, and no other', async (context) => {
  const host = await startHostFor(context, {
    plugins: [
      plugin('a', '1.0.0', '@fixtures/b'),
      plugin('b', '1.0.0', 'a'),
      plugin('one', '1.0.0', '@fixtures/two'),
      plugin('two', '1.0.0', 'three@^1.0.0'),
      plugin('three', '1.0.0', '@fixtures/absent', '@fixtures/one@1.x'),
      // Needs one of a circle, and is in none.
      plugin('above', '1.0.0', '@fixtures/a'),
      plugin('old', '1.0.0', '@fixtures/newer'),
      plugin('newer', '1.0.0', '@fixtures/old@^2.0.0'),
      plugin('itself', '1.0.0', '@fixtures/itself'),
    ],
  })
  assert.equal(
    await install(host, 'a'),
    `@fixtures/a needs @fixtures/b, and @fixtures/b needs @fixtures/a${end}`,
  )
  assert.equal(
    await install(host, 'b'),
    `@fixtures/b needs @fixtures/a, and @fixtures/a needs @fixtures/b${end}`,
  )
  const three = '@fixtures/two needs @fixtures/three, and @fixtures/three needs @fixtures/one'
  assert.equal(await install(host, 'one'), `@fixtures/one needs @fixtures/two, ${three}${end}`)
  const check = await host.request('POST', '/api/plugins/install/check', {
    body: { fullId: '@fixtures/one' },
  })
  assert.equal(
    check.body.dependencies.missing[0].message,
    `@fixtures/one needs @fixtures/two, ${three}${end}`,
  )
  const first = (id: string, needed: string): string =>
    `@fixtures/${id} needs @fixtures/${needed}, which is not installed; install it first.`
  assert.equal(await install(host, 'above'), first('above', 'a'))
  // No version of it would do.
  assert.equal(await install(host, 'old'), first('old', 'newer'))
  await command(host, 'install', { fullId: '@fixtures/itself' })
})

test('an update that needs an update of the other, and the other way round, is told as a circle, too', async (context) => {
  const host = await startHostFor(context, { plugins: [plugin('a', '1.0.0'), plugin('b', '1.0.0')] })
  for (const id of ['a', 'b']) await command(host, 'install', { fullId: `@fixtures/${id}` })
  await host.publish([plugin('a', '2.0.0', 'b@^2.0.0'), plugin('b', '2.0.0', 'a@^2.0.0')])
  assert.equal(
    await refusal(host, '@fixtures/a/update', {}),
    `@fixtures/a needs @fixtures/b, and @fixtures/b needs @fixtures/a${end}`,
  )
  // One that comes when both are there is no obstacle.
  await host.publish([plugin('a', '2.0.0', 'b'), plugin('b', '2.0.0', 'a')])
  for (const id of ['a', 'b']) await command(host, `@fixtures/${id}/update`, {})
  for (const id of ['a', 'b']) {
    assert.equal((await command(host, `@fixtures/${id}/toggle`, { enabled: true })).state, 'running')
  }
})

test('of a plugin that lacks many others the first five are looked at for a circle, and the rest costs nothing', async (context) => {
  const missing = (count: number): string[] => Array.from({ length: count }, (_, index) => `missing-${index}`)
  const others = (count: number): string[] => [
    ...missing(count).map((id) => `@fixtures/${id}`),
    '@fixtures/back',
  ]
  const host = await startHostFor(context, {
    plugins: [
      plugin('fifth', '1.0.0', ...others(4)),
      plugin('sixth', '1.0.0', ...others(5)),
      plugin('back', '1.0.0', '@fixtures/fifth', '@fixtures/sixth'),
    ],
  })
  assert.match(await install(host, 'fifth'), /they need each other in a circle/)
  assert.doesNotMatch(await install(host, 'sixth'), /circle/)
})
