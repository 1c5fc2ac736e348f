import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { command, installAndStart, startHostFor, type TestHost } from '../helpers/test-host.ts'

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

test('a version whose files are gone cannot be returned to, and what runs is left alone', async (context) => {
  const host = await startHostFor(context, { plugins: [version(1)] })
  await installAndStart(host, 'clock')
  await host.publish([version(2)])
  const { updatedAt } = await command(host, 'clock/update')
  await rm(join(host.directory, 'plugins', '.previous'), { recursive: true })
  const before = host.host.lifecycle.lastSeq
  const refused = await host.request('POST', '/api/plugins/clock/rollback')
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /^The files of @fixtures\/clock 1\.0\.0 are not on this host any more; /)
  const { body } = await host.request('GET', '/api/plugins/clock')
  assert.deepEqual([body.state, body.version, body.updatedAt], ['running', '2.0.0', updatedAt])
  assert.equal(host.host.lifecycle.lastSeq, before)
})

test('a rollback after a replacement that was interrupted has the files of its version, and the others are kept', async (context) => {
  const host = await startHostFor(context, { plugins: [version(1)] })
  await command(host, 'install', { fullId: '@fixtures/clock' })
  await host.publish([version(2)])
  await command(host, 'clock/update')
  // As of an update to a third version that a full disk has stopped, and kept from being taken back.
  const plugins = join(host.directory, 'plugins')
  const present = join(plugins, 'fixtures--clock')
  await mkdir(join(plugins, '.swap'), { recursive: true })
  await rename(present, join(plugins, '.swap', 'fixtures--clock'))
  await cp(join(plugins, '.swap', 'fixtures--clock'), present, { recursive: true })
  await writeFile(
    join(present, 'plugin.json'),
    JSON.stringify({ id: 'clock', name: 'clock', version: '3.0.0' }),
  )
  assert.equal((await command(host, 'clock/rollback')).version, '1.0.0')
  assert.equal(await readFile(join(present, 'init.lua'), 'utf8'), version(1).lua)
  const { body } = await host.request('GET', '/api/plugins/clock/versions')
  assert.ok(body.versions.every(({ available }: { available: boolean }) => available))
  assert.deepEqual(await olderOf(host), [], 'nobody can return to the third version')
})

test('an update that does not run stays when the files of the version before are gone, and the log tells so', async (context) => {
  const errors: string[] = []
  const logger = { ...silentLogger, error: (message: string): void => void errors.push(message) }
  const host = await startHostFor(context, { logger, plugins: [version(1)] })
  await installAndStart(host, 'clock')
  await host.publish([{ id: 'clock', version: '2.0.0', lua: 'error("worse")' }])
  host.host.lifecycle.subscribe((announcement) => {
    if (announcement.kind === 'lifecycle' && announcement.event.type === 'PluginLoadFailed')
      rmSync(join(host.directory, 'plugins', '.previous'), { recursive: true })
  })
  const { state, version: present, error } = await command(host, 'clock/update')
  assert.deepEqual([state, present, error.code], ['failed', '2.0.0', 'lua_error'])
  assert.ok(errors.includes('An update does not run, and the files of the version before are gone'))
})
