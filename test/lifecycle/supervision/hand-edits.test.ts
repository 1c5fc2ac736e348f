import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
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

test('placeholders in an entry that somebody has added stand for nothing, and are no secrets', async (context) => {
  const lines: string[] = []
  const first = await startTestHost({
    logger: {
      ...silentLogger,
      warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields?.places)}`),
    },
    hostFile: {
      plugins: {
        installed: [
          // As GET /api/plugins of another host shows them.
          {
            id: '@fixtures/hello',
            config: { apiKey: '********', name: 'a', accounts: [{ user: 'u', password: '********' }] },
          },
        ],
      },
    },
  })
  endLatestFirst(context, () => first.close())
  const { plugins } = JSON.parse(await readFile(join(first.directory, '.host.json'), 'utf8'))
  assert.deepEqual(plugins.installed[0].config, { name: 'a', accounts: [{ user: 'u' }] })
  const saved = await first.request('POST', '/api/plugins/hello/config', {
    body: { config: { apiKey: '********', name: 'b' } },
  })
  assert.equal(saved.status, 200)
  const after = JSON.parse(await readFile(join(first.directory, '.host.json'), 'utf8'))
  assert.deepEqual(after.plugins.installed[0].config, { name: 'b' })
  const told = lines.filter((line) => line.includes('placeholders'))
  assert.deepEqual(told, [
    'A plugin in .host.json has placeholders for secrets that are not here: set them anew ["/config/apiKey","/config/accounts/0/password"]',
  ])
})
