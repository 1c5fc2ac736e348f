import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { endLatestFirst } from '../../helpers/end-latest-first.ts'
import { startTestHost } from '../../helpers/test-host.ts'

/** `.host.json` as a person leaves it, beside a journal whose oldest files have been moved away. */

test('a .host.json without its member journal is taken as a whole, also where old segments have been moved away', async (context) => {
  const first = await startTestHost({ segmentBytes: 1 })
  endLatestFirst(context, () => first.close())
  const post = (path: string, body: object) => first.request('POST', `/api/plugins/${path}`, { body })
  await post('install', { fullId: '@fixtures/demo' })
  for (let count = 1; count <= 5; count += 1) await post('demo/config', { config: { count } })
  await first.host.close()
  const segments = (await readdir(first.directory)).filter((name) => /^\.host\.journal\.\d+$/.test(name))
  assert.ok(segments.length > 2, segments.join())
  for (const name of segments.sort().slice(0, 2)) await rm(join(first.directory, name))
  const path = join(first.directory, '.host.json')
  const { journal: _journal, ...file } = JSON.parse(await readFile(path, 'utf8'))
  file.plugins.installed[0].config = { count: 2 }
  await writeFile(path, JSON.stringify(file))

  const second = await first.restart()
  endLatestFirst(context, () => second.close())
  const { body } = await second.request('GET', '/api/history')
  assert.ok(body.events[0].seq > 1, 'the history begins later')
  assert.deepEqual(
    body.events
      .filter(({ by }: { by: string }) => by === 'file')
      .map(({ type, data }: { type: string; data: unknown }) => [type, data]),
    [['PluginConfigured', { config: { count: 2 } }]],
  )
})
