import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Problem } from '../../src/base/problem.ts'
import { createDeferred } from '../../src/base/time/deferred.ts'
import {
  clockPlugin,
  clockRepository,
  createStage,
  problemOf,
  readTree,
  serve,
  startServer,
} from './repository-fixture.ts'

/** What is under way when nobody waits for it any more. */

/** A repository that never answers for this path. `reached`: that was asked for. */
async function stage(context: TestContext, silent: string) {
  const reached = createDeferred<undefined>()
  const { url } = await startServer(context, (request, response) => {
    if (request.url === silent) reached.resolve(undefined)
    else serve(clockRepository())(request, response)
  })
  return { ...(await createStage(context)), repository: { name: 'web', url }, reached: reached.promise }
}

for (const path of ['/plugins.json', '/clock/plugin.json', '/clock/init.lua'])
  test(`the end of the host cuts a fetch of ${path} off`, async (context) => {
    const { directory, catalog, clock, repository, reached } = await stage(context, path)
    const unasked = new AbortController().signal
    const outcome = problemOf(catalog.stage(repository, clockPlugin, {}, unasked))
    await reached
    await catalog.close()
    assert.equal((await outcome).code, 'shutting_down')
    assert.deepEqual([clock.waiting, await readTree(directory)], [0, {}])
  })

test('who does not want a plugin any more waits for none of its files', async (context) => {
  const { directory, catalog, clock, repository, reached } = await stage(context, '/clock/init.lua')
  const wish = new AbortController()
  const outcome = problemOf(catalog.stage(repository, clockPlugin, {}, wish.signal))
  await reached
  wish.abort(new Problem('invalid_transition', 'It is disabled.'))
  assert.equal((await outcome).code, 'invalid_transition')
  assert.deepEqual([clock.waiting, await readTree(directory)], [0, {}])
})

test('that the host ends is told to who looks for a plugin, and not that its repository cannot be read', async (context) => {
  const { catalog, repository, reached } = await stage(context, '/plugins.json')
  const outcome = problemOf(catalog.choose([repository], clockPlugin.fullId))
  await reached
  await catalog.close()
  assert.equal((await outcome).code, 'shutting_down')
})
