import assert from 'node:assert/strict'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'

const version = (number: number): FixturePlugin => ({
  id: 'clock',
  version: `${number}.0.0`,
  lua: `-- ${number}\nPlugin:new("clock")`,
})

function olderOf(host: TestHost): Promise<string[]> {
  return readdir(join(host.directory, 'plugins', '.older', 'fixtures--clock')).catch(() => [])
}

async function post(host: TestHost, path: string, body: object = {}): Promise<void> {
  const answer = await host.request('POST', `/api/plugins/${path}`, { body })
  assert.ok(answer.status < 300, JSON.stringify(answer.body))
}

test('installing again and again leaves no versions behind that nobody can return to', async (context) => {
  const host = await startTestHost({ plugins: [version(1)] })
  context.after(() => host.close())
  for (let number = 1; number <= 4; number += 1) {
    await host.publish([version(number)])
    await post(host, 'install', { fullId: '@fixtures/clock' })
    await host.request('DELETE', '/api/plugins/clock')
  }
  assert.deepEqual(await olderOf(host), [])
})

test('a start removes what a crash left of versions that nobody can return to, and only that', async (context) => {
  let host = await startTestHost({ plugins: [version(1)] })
  context.after(() => host.close())
  await post(host, 'install', { fullId: '@fixtures/clock' })
  for (let number = 2; number <= 4; number += 1) {
    await host.publish([version(number)])
    await post(host, 'clock/update')
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
