import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { whereBroken } from '../helpers/broken-file.ts'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { launchHostProcess, type LaunchedProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

async function post(host: LaunchedProcess, path: string, body: object): Promise<Record<string, unknown>> {
  const { http } = await host.ready
  const answer = await fetch(`${String(http)}/api/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await answer.json()) as Record<string, unknown>
}

/** A repository with a plugin whose version 2 does not know the secret of version 1 any more, and a host that has that one, switched off. */
async function startWithSecret(context: TestContext) {
  const base = await temporaryDirectory(context)
  const [data, repository] = [join(base, 'data'), join(base, 'repository')]
  const publish = (version: string, manifest: Record<string, unknown>): Promise<void> =>
    writeFixtureRepository(repository, [{ id: 'door', version, lua: 'Plugin:new("door")', manifest }])
  await publish('1.0.0', { configSchema: [{ key: 'room', type: 'string', secret: true }] })
  const host = launchHostProcess(data)
  context.after(() => host.stop('SIGKILL'))
  await post(host, 'repositories', { name: 'fixtures', url: repository })
  await post(host, 'plugins/install', { fullId: '@fixtures/door' })
  await post(host, 'plugins/door/config', { config: { room: 'attic' } })
  await host.stop('SIGTERM')
  await publish('2.0.0', {})
  return { data, manifest: join(data, 'plugins', 'fixtures--door', 'plugin.json') }
}

/** Starts a host that cannot read this file, until `mend` is called; undefined where nothing can be mounted. */
async function startBroken(context: TestContext, { data, manifest }: { data: string; manifest: string }) {
  const [unshare = '', ...within] = whereBroken(manifest)
  const { status, stderr } = spawnSync(unshare, [...within, 'true'], { encoding: 'utf8' })
  if (status !== 0) {
    context.skip(`nothing can be mounted here: ${stderr}`)
    return undefined
  }
  const host = launchHostProcess(data, { within: whereBroken(manifest) })
  context.after(() => host.stop('SIGKILL'))
  const { http } = await host.ready
  return {
    host,
    async look(): Promise<Record<string, unknown>> {
      return (await fetch(`${String(http)}/api/plugins/door`)).json() as Promise<Record<string, unknown>>
    },
    mend(): void {
      const there = [`--target=${host.process.pid}`, '--mount', '--user', '--preserve-credentials']
      const done = spawnSync('nsenter', [...there, 'umount', manifest], { encoding: 'utf8' })
      assert.equal(done.status, 0, done.stderr)
    },
  }
}

test('a manifest that could not be read at the start is read as soon as it can be, also of a plugin that is off', async (context) => {
  const broken = await startBroken(context, await startWithSecret(context))
  if (broken === undefined) return
  const { host, look, mend } = broken
  assert.deepEqual((await look()).fields, [])
  mend()
  await host.said('What had been left undone for a plugin is done')
  const { fields, state } = await look()
  assert.deepEqual([(fields as { key: string }[]).map(({ key }) => key), state], [['room'], 'installed'])
})

test('an update of a plugin whose manifest could not be read at the start remembers which values were secret', async (context) => {
  const broken = await startBroken(context, await startWithSecret(context))
  if (broken === undefined) return
  const { host, mend } = broken
  mend()
  const { version, config } = await post(host, 'plugins/door/update', {})
  assert.deepEqual({ version, config }, { version: '2.0.0', config: { room: '********' } })
})

test('a version that is kept for the way back is not removed when its files cannot be read for once', async (context) => {
  const base = await temporaryDirectory(context)
  const [data, repository] = [join(base, 'data'), join(base, 'repository')]
  const publish = (version: string): Promise<void> =>
    writeFixtureRepository(repository, [{ id: 'tally', version, lua: `-- ${version}\nPlugin:new("tally")` }])
  await publish('1.0.0')
  let host = launchHostProcess(data)
  context.after(() => host.stop('SIGKILL'))
  await post(host, 'repositories', { name: 'fixtures', url: repository })
  await post(host, 'plugins/install', { fullId: '@fixtures/tally' })
  for (const version of ['2.0.0', '3.0.0']) {
    await publish(version)
    assert.equal((await post(host, 'plugins/@fixtures/tally/update', {})).version, version)
  }
  await host.stop('SIGTERM')

  const older = join(data, 'plugins', '.older', 'fixtures--tally')
  const [first = ''] = await readdir(older)
  // One that nobody can return to, as a kill may leave it: so the host looks which of them it needs.
  await cp(join(data, 'plugins', 'fixtures--tally'), join(older, 'left-over'), { recursive: true })
  const broken = join(older, first, 'plugin.json')
  const [unshare = '', ...within] = whereBroken(broken)
  const { status, stderr } = spawnSync(unshare, [...within, 'true'], { encoding: 'utf8' })
  if (status !== 0) {
    context.skip(`nothing can be mounted here: ${stderr}`)
    return
  }
  host = launchHostProcess(data, { within: whereBroken(broken) })
  await host.ready
  assert.match(host.output(), /Versions that are not needed any more could not be removed/)
  await host.stop('SIGTERM')

  host = launchHostProcess(data)
  const { version, state, detail } = await post(host, 'plugins/@fixtures/tally/rollback', {
    version: '1.0.0',
  })
  assert.deepEqual({ version, state, detail }, { version: '1.0.0', state: 'installed', detail: undefined })
  assert.deepEqual((await readdir(older)).length, 1)
})
