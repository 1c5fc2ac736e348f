import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { syncOfWrites } from '../helpers/failing-file-system.ts'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { startTestHost } from '../helpers/test-host.ts'

const isTemporary = (path: string): boolean => path.endsWith('.tmp')

/**
 * What a power cut takes is what was not synced: content of files, and names in directories. A file system that
 * keeps account of both, and is asked at each acknowledgement.
 */
function createAccount(): { files: FileSystem; unsynced(): string[] } {
  const names = new Set<string>()
  const contents = new Set<string>()
  /** Segments and checkpoints that have just got their names: only what is appended to them needs those. */
  const fresh = new Set<string>()
  const files: FileSystem = {
    ...systemFileSystem,
    async open(path, flags, mode) {
      const name = String(path)
      // Of a file that has not got its name yet nothing needs to survive.
      const isNew = flags !== 'r' && !existsSync(name)
      const syncsItself = syncOfWrites(flags) !== undefined
      if (isNew && !isTemporary(name)) names.add(dirname(name))
      const handle = await systemFileSystem.open(name, flags, mode)
      return new Proxy(handle, {
        get(target, member) {
          const value: unknown = Reflect.get(target, member)
          if (typeof value !== 'function') return value
          if (member === 'write' || member === 'writeFile' || member === 'truncate') contents.add(name)
          if (member === 'write' && fresh.has(name)) names.add(dirname(name))
          return async (...given: unknown[]) => {
            const result: unknown = await Reflect.apply(value, target, given)
            const isWrite = member === 'write' || member === 'writeFile'
            if (member === 'sync' || member === 'datasync' || (isWrite && syncsItself)) {
              contents.delete(name)
              names.delete(name)
              for (const path of fresh) if (dirname(path) === name) fresh.delete(path)
            }
            return result
          }
        },
      })
    },
    async rename(from, to) {
      assert.ok(!contents.has(String(from)), `${String(from)} gets its name before its content is on disk`)
      await systemFileSystem.rename(from, to)
      if (/^\.host\.(?:journal|checkpoint)/.test(basename(String(to)))) {
        fresh.add(String(to))
        return
      }
      names.add(dirname(String(from)))
      names.add(dirname(String(to)))
    },
    mkdir: (async (path: string, options: { mode: number }) => {
      await systemFileSystem.mkdir(path, options)
      names.add(dirname(path))
      // One of the overloads is all that the host uses.
    }) as FileSystem['mkdir'],
    async rm(path, options) {
      await systemFileSystem.rm(path, options)
      contents.delete(String(path))
      names.delete(String(path))
    },
  }
  return { files, unsynced: () => [...contents, ...names].filter((path) => existsSync(path)) }
}

const lua = (version: number): string =>
  `-- ${version}\nlocal p = Plugin:new("tally")\np:onInit(function() p:kvSet("n", ${version}) end)`

for (const segmentBytes of [undefined, 500]) {
  const manner = segmentBytes === undefined ? '' : ', and with a new segment of the journal every few events'
  test(`whatever is acknowledged has its content and its names on disk, in every directory${manner}`, (context) =>
    assertDurable(context, segmentBytes))
}

async function assertDurable(context: TestContext, segmentBytes: number | undefined): Promise<void> {
  const { files, unsynced } = createAccount()
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
