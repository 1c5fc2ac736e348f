import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHostFor } from '../../helpers/test-host.ts'

/** As hosts of a fleet hand a request on: whoever was not answered has sent it again by way of another one. */

test('a request that comes again, while it is carried out or later, is carried out once', async (context) => {
  const host = await startHostFor(context)
  const { lifecycle } = host.host
  const id = '@fixtures/hello'
  await lifecycle.install({ fullId: id }, { by: 'http' })
  const flip = { by: 'http', requestKey: 'flip' } as const
  const { revision: expectedRevision } = lifecycle.get(id)
  const configure = { by: 'mqtt', requestKey: 'configure', expectedRevision } as const
  const send = () => [
    lifecycle.configure(id, { name: 'you' }, configure),
    lifecycle.toggle(id, undefined, flip),
  ]
  const first = send()
  const second = send()
  await Promise.all([...first, ...second])
  // By then the revision is another one.
  const [configured, flipped] = await Promise.all(send())
  assert.deepEqual([configured?.enabled, flipped?.enabled, flipped?.state], [true, true, 'running'])
  assert.deepEqual(
    lifecycle.history({ plugin: id, after: 0, limit: 100 }).map(({ type }) => type),
    ['PluginInstallRequested', 'PluginInstalled', 'PluginConfigured', 'PluginEnabled', 'PluginLoaded'],
  )
})
