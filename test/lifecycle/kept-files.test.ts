import assert from 'node:assert/strict'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { command, startHostFor, type TestHost } from '../helpers/test-host.ts'

const version = (number: number): FixturePlugin => ({
  id: 'clock',
  version: `${number}.0.0`,
  lua: `-- ${number}\nPlugin:new("clock")`,
})

function olderOf(host: TestHost): Promise<string[]> {
  return readdir(join(host.directory, 'plugins', '.older', 'fixtures--clock')).catch(() => [])
}

test('installing again and again leaves no versions behind that nobody can return to', async (context) => {
  const host = await startHostFor(context, { plugins: [version(1)] })
  for (let number = 1; number <= 4; number += 1) {
    await host.publish([version(number)])
    await command(host, 'install', { fullId: '@fixtures/clock' })
    await host.request('DELETE', '/api/plugins/clock')
  }
  assert.deepEqual(await olderOf(host), [])
})

test('a start removes what a crash left of versions that nobody can return to, and only that', async (context) => {
  let host = await startHostFor(context, { plugins: [version(1)] })
  await command(host, 'install', { fullId: '@fixtures/clock' })
  for (let number = 2; number <= 4; number += 1) {
    await host.publish([version(number)])
    await command(host, 'clock/update')
  }
  const [kept = ''] = await olderOf(host)
  await host.host.close()
  const older = join(host.directory, 'plugins', '.older', 'fixtures--clock')
  // As of an update that was killed before it removed what it had made superfluous.
  for (const name of ['left', 'over']) await cp(join(older, kept), join(older, name), { recursive: true })
  await cp(join(host.directory, 'plugins', 'fixtures--clock'), join(older, 'present'), { recursive: true })
  host = await host.restart()
  assert.equal((await olderOf(host)).length, 2)
  const { body } = await host.request('GET', '/api/plugins/clock/versions')
  assert.deepEqual(
    body.versions.map((each: { version: string; available: boolean }) => [each.version, each.available]),
    [4, 3, 2, 1].map((number) => [`${number}.0.0`, true]),
  )
})
