import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** A file system of which nobody answers for: whatever is asked there never ends, until the process does. */
const mountThere =
  'exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hang "$0" && exec "$@"'
const inNamespace = (place: string): string[] => ['-Urm', 'sh', '-c', mountThere, place]

test('a folder of a repository that never answers holds nobody up but those who want something from there', async (context) => {
  const base = await temporaryDirectory(context)
  const place = join(base, 'nas')
  await mkdir(place)
  const { status, stderr } = spawnSync('unshare', [...inNamespace(place), 'true'], { encoding: 'utf8' })
  if (status !== 0) {
    context.skip(`no such file system can be mounted here: ${stderr}`)
    return
  }
  const host = launchHostProcess(join(base, 'data'), {
    within: ['unshare', ...inNamespace(place)],
  })
  context.after(() => host.stop('SIGKILL'))
  const { http } = await host.ready
  const post = async (path: string, body: object): Promise<Response> =>
    fetch(`${String(http)}/api/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    })

  const add = { name: 'nas', url: join(place, 'plugins') }
  const adding = Promise.all(Array.from({ length: 8 }, () => post('repositories', add)))
  assert.equal((await post('plugins/install', { fullId: '@starter/clock' })).status, 201)
  for (const answer of await adding) {
    assert.equal(answer.status, 502)
    const { code, detail } = (await answer.json()) as { code: string; detail: string }
    assert.equal(code, 'repository_unreachable')
    assert.match(detail, /the folder has not answered within 10 s/)
  }
  assert.equal((await post('plugins/@starter/clock/toggle', { enabled: true })).status, 200)
})
