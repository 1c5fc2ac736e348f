import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
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
