import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { command, startHostFor } from '../helpers/test-host.ts'

/** A repository is asked once for what is shown, and once more for what is installed. It may answer another thing. */

const lamp = (version: string, hosts?: string[]): FixturePlugin => ({
  ...{ id: 'lamp', version, lua: 'Plugin:new("lamp")' },
  manifest: hosts === undefined ? {} : { permissions: { hosts } },
})
const minutes = 60_000

test('what asks for more than it did when it was looked at is refused, once, and nothing changes', async (context) => {
  let ahead = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead }
  const host = await startHostFor(context, { plugins: [lamp('1.0.0', ['a.example'])], clock })
  const post = (path: string, body: object) => host.request('POST', `/api/plugins/${path}`, { body })
  const plugin = { fullId: '@fixtures/lamp' }

  assert.equal((await post('install/check', plugin)).status, 200)
  await host.publish([lamp('1.0.0', ['a.example', 'b.example'])])
  const refused = await post('install', plugin)
  assert.deepEqual([refused.status, refused.body.code], [422, 'integrity_mismatch'])
  assert.match(refused.body.detail, /asks for more now than when it was looked at \(host b\.example\)/)
  assert.equal((await host.request('GET', '/api/plugins/lamp')).status, 404)
  await command(host, 'install', plugin)
  await command(host, 'lamp/toggle', { enabled: true })

  await host.publish([lamp('2.0.0', ['b.example'])])
  assert.equal((await post('lamp/update/check', {})).body.to, '2.0.0')
  await host.publish([lamp('2.0.0')])
  assert.equal((await post('lamp/update', { version: '2.0.0' })).body.code, 'integrity_mismatch')
  const { body } = await host.request('GET', '/api/plugins/lamp')
  assert.deepEqual([body.version, body.state], ['1.0.0', 'running'])

  // Who has seen it may have it; less than what was shown is no obstacle; and what was shown long ago does not count.
  await post('lamp/update/check', {})
  assert.equal((await command(host, 'lamp/update', {})).version, '2.0.0')
  await post('lamp/update/check', {})
  await host.publish([lamp('3.0.0', ['a.example'])])
  assert.equal((await command(host, 'lamp/update', {})).version, '3.0.0')
  await post('lamp/update/check', {})
  await host.publish([lamp('4.0.0')])
  ahead = 11 * minutes
  assert.equal((await command(host, 'lamp/update', {})).version, '4.0.0')
})
