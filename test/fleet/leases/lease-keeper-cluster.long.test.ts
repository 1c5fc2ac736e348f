import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStoreCluster } from '../../helpers/nats-server.ts'
import { until } from '../../helpers/until.ts'
import { createKeptHost, plugins } from './keeper-stage.ts'

test('a session goes on, or begins anew, whichever of three servers of the store dies', async (context) => {
  const servers = await startStoreCluster(context)
  // The servers find each other first; until then they refuse to make anything.
  const { keeper, running, done, errors } = await until('the store', async () => {
    const kept = createKeptHost(context, '', 'home', 'h1', {
      address: { servers: servers.map(({ url }) => url), name: 'h1' },
      wanted: plugins('@a/p'),
    })
    return kept.keeper.open().then(
      () => kept,
      () => undefined,
    )
  })
  await until('the plugin', async () => running.size === 1)
  for (const [nth, server] of servers.entries()) {
    const begin = performance.now()
    await server.stop('SIGKILL')
    const { revision } = keeper.state.own ?? { revision: 0 }
    await until('two renewals', async () => (keeper.state.own?.revision ?? 0) >= revision + 2)
    await until('the plugin', async () => keeper.mayAct('@a/p', running.get('@a/p') ?? 0))
    context.diagnostic(`n${nth}: ${Math.round(performance.now() - begin)} ms; ${done.join(', ')}`)
    await server.start()
    await until('another renewal', async () => (keeper.state.own?.revision ?? 0) >= revision + 4)
  }
  assert.deepEqual(errors, [])
})
