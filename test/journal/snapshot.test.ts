import assert from 'node:assert/strict'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { initialState } from '../../src/journal/fold/evolve.ts'
import { handEdits, readSnapshot, snapshotFileName } from '../../src/journal/snapshot/snapshot.ts'
import { snapshotRetryDelay } from '../../src/journal/snapshot/snapshot-writer.ts'
import type { HostFile } from '../../src/schema/journal/host-file.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { createTestSnapshots } from '../helpers/journal-stage.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const entry = { id: '@a/b', version: '1.0.0', enabled: false, config: { x: 1 } }
const written: HostFile = { repositories: [{ name: 'r', url: './r' }], plugins: { installed: [entry] } }

const keyText = 'RWQafVbMbfi+2RTqMUQ2aSzOBHy76uhMGmujIeVCk6zwa7SHBQmwe8rK'

const edits: [title: string, file: HostFile, expected: unknown[]][] = [
  ['nothing', written, []],
  ['members that only the host writes', { ...written, journal: { seq: 9 } }, []],
  ['a file without sections', {}, []],
  [
    'a config and the switch',
    { plugins: { installed: [{ id: '@a/b', enabled: true, config: { x: 2 } }] } },
    [
      { kind: 'configured', id: '@a/b', config: { x: 2 } },
      { kind: 'enabled', id: '@a/b', enabled: true },
    ],
  ],
  ['an entry with only its id', { plugins: { installed: [{ id: '@a/b' }] } }, []],
  [
    'an entry removed, another added',
    { plugins: { installed: [{ id: '@c/d', enabled: true }] } },
    [
      { kind: 'pluginAdded', entry: { id: '@c/d', enabled: true } },
      { kind: 'pluginRemoved', id: '@a/b' },
    ],
  ],
  [
    'a repository replaced',
    { repositories: [{ name: 's', url: './s' }] },
    [
      { kind: 'repositoryAdded', repository: { name: 's', url: './s' } },
      { kind: 'repositoryRemoved', name: 'r' },
    ],
  ],
  [
    'a repository moved',
    { repositories: [{ name: 'r', url: './elsewhere' }] },
    [{ kind: 'repositoryAdded', repository: { name: 'r', url: './elsewhere' } }],
  ],
  [
    'a repository pinned to a key',
    { repositories: [{ name: 'r', url: './r', publicKey: keyText }] },
    [{ kind: 'repositoryAdded', repository: { name: 'r', url: './r', publicKey: keyText } }],
  ],
  ['no key, said so', { repositories: [{ name: 'r', url: './r', publicKey: null }] }, []],
  [
    'a repository of another host, with the time of its signature',
    {
      repositories: [
        { name: 'r', url: './r' },
        { name: 's', url: './s', publicKey: keyText, signedAt: 7 },
      ],
    },
    [{ kind: 'repositoryAdded', repository: { name: 's', url: './s', publicKey: keyText, signedAt: 7 } }],
  ],
]

for (const [title, file, expected] of edits) {
  test(`an edit by hand is seen: ${title}`, () => assert.deepEqual(handEdits(written, file), expected))
}

const refused: [title: string, content: string, sentence: RegExp][] = [
  ['no JSON', '{"plugins": ', /not valid JSON/],
  ['an array', '[]', /must be object/],
  [
    'a wrong type, with its place',
    '{"plugins":{"installed":[{"id":"@a/b","enabled":"yes"}]}}',
    /\/plugins\/installed\/0\/enabled/,
  ],
  ['a short id', '{"plugins":{"installed":[{"id":"clock"}]}}', /\/plugins\/installed\/0\/id/],
  [
    'a repository twice',
    '{"repositories":[{"name":"a","url":"x"},{"name":"a","url":"y"}]}',
    /the repository a twice/,
  ],
  ['an id twice', '{"plugins":{"installed":[{"id":"@a/b"},{"id":"@a/b"}]}}', /@a\/b twice/],
  ['a newer version', '{"version":2}', /\/version must be 1/],
  [
    'a key that is none',
    '{"repositories":[{"name":"r","url":"./r","publicKey":"RWX"}]}',
    /\/repositories\/0\/publicKey must be a public key of minisign/,
  ],
]

for (const [title, content, sentence] of refused) {
  test(`a file that cannot be used is refused with what to do: ${title}`, async (context) => {
    const directory = await temporaryDirectory(context)
    await writeFile(join(directory, snapshotFileName), content)
    await assert.rejects(readSnapshot(systemFileSystem, directory), (error: Error) => {
      assert.match(error.message, sentence)
      assert.match(error.message, /Correct it, or move it away/)
      return true
    })
  })
}

test('the file is written whole, for its owner only, and keeps members that the host does not know', async (context) => {
  const directory = await temporaryDirectory(context)
  const kept = { note: 'mine', host: { id: 'h', room: 'cellar' } } as HostFile
  const writer = createTestSnapshots(directory, { kept })
  await writer.flush()
  const path = join(directory, snapshotFileName)
  assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), {
    note: 'mine',
    host: { id: 'h', room: 'cellar' },
    version: 1,
    repositories: [],
    plugins: { installed: [] },
    journal: { seq: 0 },
  })
  assert.equal((await stat(path)).mode & 0o777, 0o600)
})

test('the settings that the file had do not stay in memory beside those of the fold', async (context) => {
  const directory = await temporaryDirectory(context)
  // In a function of its own: its variables are gone when it has returned.
  const { writer, remembered } = (() => {
    const config = { text: 'long' }
    const entry = { id: '@a/b', enabled: true, config }
    return {
      remembered: new WeakRef(config),
      writer: createTestSnapshots(directory, { kept: { plugins: { installed: [entry] } } }),
    }
  })()
  // A WeakRef keeps what it refers to until the turn is over.
  await new Promise(setImmediate)
  collectGarbage()
  assert.equal(remembered.deref(), undefined)
  await writer.close()
})

for (const operation of ['open', 'writeFile', 'sync', 'rename'] as const) {
  test(`when ${operation} fails the old file stays as it is, nothing is left beside it, and the failure is told`, async (context) => {
    const directory = await temporaryDirectory(context)
    const path = join(directory, snapshotFileName)
    await writeFile(path, '{"old":true}')
    let full = true
    const writer = createTestSnapshots(directory, {
      files: failingFileSystem((name, file) => full && name === operation && file.includes(snapshotFileName)),
    })
    await writer.flush()
    assert.equal(await readFile(path, 'utf8'), '{"old":true}')
    assert.deepEqual(await readdir(directory), [snapshotFileName])
    assert.match(writer.failure ?? '', /disk of the data directory is full/)
    full = false
    await writer.flush()
    assert.equal(writer.failure, undefined)
    assert.equal(JSON.parse(await readFile(path, 'utf8')).journal.seq, 0)
  })
}

test('what could not be written is written when it can be, without a change', async (context) => {
  const directory = await temporaryDirectory(context)
  const path = join(directory, snapshotFileName)
  const clock = createManualClock()
  const disk = { full: true, tries: 0 }
  const writer = createTestSnapshots(directory, {
    files: failingFileSystem((name) => {
      disk.tries += name === 'writeFile' ? 1 : 0
      return disk.full && name === 'writeFile'
    }),
    clock,
  })
  await writer.flush()
  clock.advance(snapshotRetryDelay)
  await writer.idle()
  assert.deepEqual([disk.tries, writer.failure !== undefined], [2, true])
  clock.advance(2 * snapshotRetryDelay - 1)
  await writer.idle()
  assert.equal(disk.tries, 2, 'the second time it waits longer')
  disk.full = false
  clock.advance(1)
  await writer.idle()
  assert.deepEqual([disk.tries, writer.failure, clock.waiting], [3, undefined, 0])
  assert.equal(JSON.parse(await readFile(path, 'utf8')).version, 1)
})

test('a closed writer tries no more by itself', async (context) => {
  const clock = createManualClock()
  const writer = createTestSnapshots(await temporaryDirectory(context), {
    files: failingFileSystem((name) => name === 'writeFile'),
    clock,
  })
  await writer.flush()
  assert.equal(clock.waiting, 1)
  await writer.close()
  assert.equal(clock.waiting, 0)
})

test('all who ask while the file is being written share the next one, which has what they changed', async (context) => {
  const directory = await temporaryDirectory(context)
  let seq = 1
  let writes = 0
  let begun = (): void => undefined
  const isBegun = new Promise<void>((resolve) => (begun = resolve))
  const writer = createTestSnapshots(directory, {
    files: failingFileSystem((name) => {
      writes += name === 'writeFile' ? 1 : 0
      // What changes from then on is for whoever asks from then on.
      if (writes === 2) seq = 9
      begun()
      return false
    }),
    state: () => ({ ...initialState(), seq }),
  })
  const first = writer.flush()
  await isBegun
  seq = 4
  const others = [1, 2, 3].map(() => writer.flush())
  await Promise.all([first, ...others])
  assert.equal(writes, 2)
  assert.equal(JSON.parse(await readFile(join(directory, snapshotFileName), 'utf8')).journal.seq, 4)
})
