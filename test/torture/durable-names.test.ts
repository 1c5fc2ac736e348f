import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDiskAccount, isTemporary } from '../helpers/disk-account.ts'
import { snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { startTestHost } from '../helpers/test-host.ts'

const lua = (version: number): string =>
  `-- ${version}\nlocal p = Plugin:new("tally")\np:onInit(function() p:kvSet("n", ${version}) end)`

for (const segmentBytes of [undefined, 500]) {
  const manner = segmentBytes === undefined ? '' : ', and with a new segment of the journal every few events'
  test(`whatever is acknowledged has its content and its names on disk, in every directory${manner}`, (context) =>
    assertDurable(context, segmentBytes))
}

async function assertDurable(context: TestContext, segmentBytes: number | undefined): Promise<void> {
  const { files, unsynced } = createDiskAccount()
  const publish = (version: number) => [{ id: 'tally', version: `${version}.0.0`, lua: lua(version) }]
  const host = await startTestHost({
    files,
    plugins: publish(1),
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  })
  context.after(() => host.close())
  const post = async (path: string, body: object = {}): Promise<void> => {
    const answer = await host.request('POST', `/api/plugins/${path}`, { body })
    assert.ok(answer.status < 300, JSON.stringify(answer.body))
    // What is fetched and thrown away again needs to survive nothing, nor what is being written while others are
    // answered: the next segment of the journal, or what the plugin has stored since.
    const left = unsynced().map((name) => relative(host.directory, name))
    assert.deepEqual(
      left.filter((name) => !name.startsWith(join('plugins', '.staging')) && !isTemporary(name)),
      [],
      path,
    )
  }
  await post('install', { fullId: '@fixtures/tally' })
  await post('tally/config', { config: { a: 1 } })
  await post('tally/toggle', { enabled: true })
  for (const version of [2, 3, 4]) {
    await host.publish(publish(version))
    await post('tally/update')
  }
  await post('tally/rollback', { version: '1.0.0' })
  await post('tally/toggle', { enabled: false })
}

test('a snapshot that is older than the last commands, as a crash between fact and snapshot leaves it, takes nothing back', async (context) => {
  const first = await startTestHost({ plugins: [{ id: 'tally', version: '1.0.0', lua: lua(1) }] })
  context.after(() => first.close())
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await first.request('POST', `/api/plugins/${path}`, { body })
    assert.ok(answer.status < 300, JSON.stringify(answer.body))
  }
  await post('install', { fullId: '@fixtures/tally' })
  const file = join(first.directory, snapshotFileName)
  const before = await readFile(file)
  await post('tally/config', { config: { a: 1 } })
  await post('tally/toggle', { enabled: true })
  await first.host.close()
  await writeFile(file, before)
  const second = await first.restart()
  context.after(() => second.close())
  const { body } = await second.request('GET', '/api/plugins/tally')
  assert.deepEqual([body.state, body.config], ['running', { a: 1 }])
  const { plugins } = JSON.parse(await readFile(file, 'utf8'))
  assert.deepEqual([plugins.installed[0].enabled, plugins.installed[0].config], [true, { a: 1 }])
})
