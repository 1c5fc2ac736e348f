import assert from 'node:assert/strict'
import type { FileHandle } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type FileSystem, systemFileSystem, temporaryOf } from '../../src/base/files/file-system.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { type SnapshotWriter } from '../../src/journal/snapshot/snapshot-writer.ts'
import { configured, id, installation } from '../helpers/any-fact.ts'
import { createTestSnapshots, openTestJournal } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

interface Stage {
  journal: Journal
  snapshots: SnapshotWriter
  /** The journal's next write waits until it is released, or refused. */
  hold(): { begun: Promise<void>; release(error?: Error): void }
  /** Calls that wrote to the temporary file, and gave it its name. */
  calls: string[]
  file(): Promise<{ plugins: { installed: { config: object }[] }; journal: { seq: number } }>
  /** What lies beside the file. */
  beside(): Promise<unknown>
}

async function startStage(context: TestContext): Promise<Stage> {
  const directory = await temporaryDirectory(context)
  const path = join(directory, snapshotFileName)
  const calls: string[] = []
  let held: { begin(): void; released: Promise<void> } | undefined
  const files: FileSystem = {
    ...systemFileSystem,
    async open(name, flags, mode) {
      const handle = await systemFileSystem.open(name, flags, mode)
      const isJournal = String(name).endsWith(journalFileName)
      return new Proxy(handle, {
        get(target, member) {
          const value: unknown = Reflect.get(target, member)
          if (typeof value !== 'function') return value
          return async (...given: unknown[]) => {
            if (member === 'write' && isJournal && held !== undefined) {
              held.begin()
              await held.released
            }
            if (member === 'writeFile' && String(name) === temporaryOf(path)) calls.push('written')
            return (await Reflect.apply(value, target, given)) as ReturnType<FileHandle['write']>
          }
        },
      })
    },
    async rename(from, to) {
      if (to === path) calls.push('named')
      await systemFileSystem.rename(from, to)
    },
  }
  const journal = await openTestJournal(directory, { files })
  const snapshots = createTestSnapshots(directory, {
    files,
    state: () => journal.state,
    eventId: (seq) => journal.eventId(seq),
    onWriting: journal.onWriting,
  })
  context.after(async () => {
    await snapshots.close()
    await journal.close()
  })
  await journal.append(installation(id), 'http')
  await snapshots.flush()
  calls.length = 0
  const read = async (name: string): Promise<ReturnType<typeof JSON.parse>> =>
    JSON.parse(await readFile(name, 'utf8'))
  return {
    journal,
    snapshots,
    calls,
    hold() {
      let release: (error?: Error) => void = () => undefined
      const begun = new Promise<void>((resolve) => {
        const released = new Promise<void>((go, refuse) => {
          release = (error) => {
            held = undefined
            if (error === undefined) go()
            else refuse(error)
          }
        })
        held = { begin: resolve, released }
      })
      return { begun, release }
    },
    file: () => read(path),
    beside: async () => (existsSync(temporaryOf(path)) ? read(temporaryOf(path)) : undefined),
  }
}

test('while the disk takes the last fact of a command its snapshot is written, which gets its name afterwards', async (context) => {
  const { journal, snapshots, calls, hold, file, beside } = await startStage(context)
  const { begun, release } = hold()
  const command = snapshots.include(() => journal.append([configured(id, { value: 7 })], 'http'))
  await begun
  await snapshots.idle()
  assert.deepEqual(
    [calls, (await file()).journal.seq],
    [['written'], 2],
    'nobody sees what is not a fact yet',
  )
  release()
  await command
  assert.deepEqual(calls, ['written', 'named'])
  const { plugins, journal: last } = await file()
  assert.deepEqual([plugins.installed[0]?.config, last.seq], [{ value: 7 }, 3])
  assert.equal(await beside(), undefined)
})

test('a snapshot of what the disk has refused is never seen, also where the next fact has the same number', async (context) => {
  const { journal, snapshots, calls, hold, file, beside } = await startStage(context)
  const { begun, release } = hold()
  const refused = snapshots.include(() => journal.append([configured(id, { value: 7 })], 'http'))
  await begun
  await snapshots.idle()
  release(new Error('the disk is full'))
  await assert.rejects(refused, { code: 'storage_full' })
  assert.equal(await beside(), undefined)
  await journal.append([configured(id, { value: 8 })], 'http')
  await snapshots.flush()
  const { plugins, journal: last } = await file()
  assert.deepEqual([plugins.installed[0]?.config, last.seq], [{ value: 8 }, 3])
  assert.deepEqual(calls, ['written', 'written', 'named'])
  assert.equal(await beside(), undefined)
})

test('what is not the last fact of a command, or has another command beside it, is written when it is asked for', async (context) => {
  const { journal, snapshots, calls, file } = await startStage(context)
  await snapshots.include(async () => {
    await journal.append([{ type: 'PluginEnabled', plugin: id, data: {} }], 'http')
    await snapshots.idle()
    assert.deepEqual(calls, [], 'it is loading')
    const error = { code: 'lua_error', message: 'no', at: '' }
    await journal.append([{ type: 'PluginLoadFailed', plugin: id, data: { error } }], 'http')
  })
  assert.deepEqual(calls, ['written', 'named'])
  calls.length = 0
  let begin = (): void => undefined
  const allThere = new Promise<void>((resolve) => (begin = resolve))
  const commands = [1, 2, 3].map((value) =>
    snapshots.include(async () => {
      await allThere
      await journal.append([configured(id, { value })], 'http')
    }),
  )
  begin()
  await Promise.all(commands)
  assert.equal(calls.filter((call) => call === 'written').length, calls.length / 2, String(calls))
  assert.deepEqual((await file()).plugins.installed[0]?.config, { value: 3 })
})
