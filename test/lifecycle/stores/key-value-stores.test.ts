import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { writeDelay } from '../../../src/base/files/delayed-write.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { createKeyRing, SecretKeyError } from '../../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { encodeLine } from '../../../src/journal/lines/journal-line.ts'
import {
  requireKeysOfStores,
  storePath,
  storesFolderIn,
} from '../../../src/lifecycle/stores/key-value-file.ts'
import { createKeyValueStores } from '../../../src/lifecycle/stores/key-value-stores.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { contractRing, keyValueContract } from './key-value-contract.ts'

keyValueContract('the values of a single host', async (context) => {
  const directory = await temporaryDirectory(context)
  return {
    open: async ({ ring = contractRing, clock = systemClock } = {}) =>
      createKeyValueStores({ directory, files: systemFileSystem, clock, logger: silentLogger, ring }),
    async damage(plugin) {
      const path = storePath(directory, plugin)
      await writeFile(path, (await readFile(path, 'utf8')).replace('sealed', 'seAled'))
    },
    async content() {
      const folder = storesFolderIn(directory)
      const files = (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8'))
      return (await Promise.all(files)).join('\n')
    },
  }
})

test('while the host starts only values that are there are read; afterwards somebody may have put some back', async (t) => {
  const directory = await temporaryDirectory(t)
  const read: unknown[] = []
  const files: FileSystem = {
    ...systemFileSystem,
    readFile: ((path: string, ...rest: []) => {
      read.push(path)
      return systemFileSystem.readFile(path, ...rest)
    }) as FileSystem['readFile'],
  }
  const create = () =>
    createKeyValueStores({ directory, files, clock: systemClock, logger: silentLogger, ring: contractRing })
  const store = async (stores: ReturnType<typeof create>, plugin: string): Promise<void> => {
    await stores.open(plugin)
    stores.set(plugin, 'kept', { value: plugin })
    await stores.release(plugin)
  }
  const before = create()
  await store(before, '@a/old')
  await before.close()

  read.length = 0
  const stores = create()
  await stores.recover()
  assert.deepEqual({ ...(await stores.open('@a/old')) }, { kept: { value: '@a/old' } })
  assert.deepEqual(read, [storePath(directory, '@a/old')])
  await store(stores, '@a/new')
  assert.deepEqual(read, [storePath(directory, '@a/old')])
  assert.deepEqual({ ...(await stores.open('@a/new')) }, { kept: { value: '@a/new' } })

  stores.started()
  await store(create(), '@a/restored')
  assert.deepEqual({ ...(await stores.open('@a/restored')) }, { kept: { value: '@a/restored' } })
  await stores.close()
})

test('a disk that stays full is told of once, and that it takes values again', async (t) => {
  const directory = await temporaryDirectory(t)
  let isFull = true
  const files = failingFileSystem((operation) => isFull && operation === 'writeFile')
  const [logger, clock] = [createRecordingLogger(), createManualClock()]
  const stores = createKeyValueStores({ directory, files, clock, logger, ring: contractRing })
  t.after(() => stores.close())
  const told: string[] = []
  await stores.open('@a/meter', (sentence) => void told.push(sentence))
  stores.set('@a/meter', 'count', { value: 1 })
  for (let tries = 0; tries < 3; tries += 1) await stores.release('@a/meter')
  assert.equal(told.length, 1)
  assert.match(
    told[0] ?? '',
    /^The stored values cannot be written, which is tried again; .+ The disk .+ full/,
  )
  assert.match(String(stores.failure), /^the stored values of @a\/meter cannot be written: /)
  isFull = false
  clock.advance(writeDelay)
  await until('it to be written', async () => stores.failure === undefined)
  assert.deepEqual(
    logger.lines.map(({ level, message }) => `${level} ${message}`),
    [
      'error A key-value store could not be written; it is tried again',
      'info The key-value store could be written again',
    ],
  )
  assert.deepEqual({ ...(await stores.open('@a/meter')) }, { count: { value: 1 } })
})

test('what a full disk has not taken until the end is told as lost', async (t) => {
  const directory = await temporaryDirectory(t)
  const files = failingFileSystem((operation) => operation === 'writeFile')
  const logger = createRecordingLogger()
  const stores = createKeyValueStores({ directory, files, clock: systemClock, logger, ring: contractRing })
  for (const plugin of ['@a/meter', '@a/other', '@a/idle']) await stores.open(plugin)
  for (const plugin of ['@a/meter', '@a/other']) {
    stores.set(plugin, 'count', { value: 1 })
    await stores.release(plugin)
  }
  assert.match(
    String(stores.failure),
    /^the stored values of @a\/meter and 1 more cannot be written: The disk .+ full/,
  )
  await stores.close()
  assert.deepEqual(
    logger.lines.slice(2).map(({ level, message }) => `${level} ${message}`),
    Array(2).fill('error Stored values could not be written to disk: what has changed in them since is lost'),
  )
})

test('values that cannot be read for a while are not taken for none, and are there when they can be', async (t) => {
  const directory = await temporaryDirectory(t)
  let isUnreadable = false
  const files: FileSystem = {
    ...systemFileSystem,
    readFile: ((...given: [string]) =>
      isUnreadable
        ? Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }))
        : systemFileSystem.readFile(...given)) as FileSystem['readFile'],
  }
  const settings = { directory, files, clock: systemClock, logger: silentLogger, ring: contractRing }
  const before = createKeyValueStores(settings)
  await before.open('@a/meter')
  before.set('@a/meter', 'count', { value: 7 })
  await before.close()

  isUnreadable = true
  const stores = createKeyValueStores(settings)
  await assert.rejects(
    stores.open('@a/meter'),
    /a--meter\.json cannot be read \(EACCES\): correct the permissions/,
  )
  stores.set('@a/meter', 'count', { value: 0 })
  await stores.release('@a/meter')
  isUnreadable = false
  assert.deepEqual({ ...(await stores.open('@a/meter')) }, { count: { value: 7 } })
  await stores.close()
})

test('damaged values are put aside to the last byte, under the name that the log has', async (t) => {
  const directory = await temporaryDirectory(t)
  const path = storePath(directory, '@a/meter')
  await mkdir(storesFolderIn(directory))
  await writeFile(path, 'half a file')
  const [files, logger] = [systemFileSystem, createRecordingLogger()]
  const stores = createKeyValueStores({ directory, files, clock: systemClock, logger, ring: contractRing })
  await stores.open('@a/meter')
  stores.set('@a/meter', 'count', { value: 1 })
  await stores.close()
  const [line] = logger.lines
  assert.match(
    `${line?.level} ${line?.message}`,
    /^error A key-value store could not be read; it was put aside/,
  )
  assert.equal(await readFile(String(line?.fields?.kept), 'utf8'), 'half a file')
  assert.equal((await readdir(storesFolderIn(directory))).length, 2)
})

test('of damaged values that were put aside again and again the oldest and the three newest are kept', async (t) => {
  const directory = await temporaryDirectory(t)
  const folder = storesFolderIn(directory)
  await mkdir(folder)
  const name = basename(storePath(directory, '@a/meter'))
  const clock = createManualClock(1_700_000_000_000)
  for (let round = 0; round < 6; round += 1) {
    await writeFile(join(folder, name), `damage ${round}`)
    const [files, logger] = [systemFileSystem, silentLogger]
    const stores = createKeyValueStores({ directory, files, clock, logger, ring: contractRing })
    await stores.open('@a/meter')
    await stores.close()
    clock.advance(1)
  }
  const kept = (await readdir(folder)).filter((one) => one.startsWith(`${name}.`)).sort()
  const contents = await Promise.all(kept.map((one) => readFile(join(folder, one), 'utf8')))
  assert.deepEqual(contents, ['damage 0', 'damage 3', 'damage 4', 'damage 5'])
})

test('values that a newer version has written stay where they are, and none is written over them', async (context) => {
  const directory = await temporaryDirectory(context)
  const path = storePath(directory, '@a/newer')
  await mkdir(storesFolderIn(directory))
  const content = `${encodeLine({ version: 3, values: { count: 7 } })}\n`
  await writeFile(path, content)
  const [files, logger] = [systemFileSystem, silentLogger]
  const stores = createKeyValueStores({ directory, files, clock: systemClock, logger, ring: contractRing })
  await assert.rejects(
    stores.open('@a/newer'),
    /a--newer\.json cannot be read: it was written in format 3 by a newer Lupine; .+ start that version again/,
  )
  await stores.close()
  assert.deepEqual(await readdir(storesFolderIn(directory)), ['a--newer.json'])
  assert.equal(await readFile(path, 'utf8'), content)
})

test('without the key of any values a host does not start; those that cannot be read are no reason', async (t) => {
  const directory = await temporaryDirectory(t)
  const [files, logger, clock] = [systemFileSystem, silentLogger, systemClock]
  const stores = createKeyValueStores({ directory, files, clock, logger, ring: contractRing })
  await stores.open('@a/meter')
  stores.set('@a/meter', 'count', { value: 1 })
  await stores.close()
  await writeFile(storePath(directory, '@a/damaged'), 'half a file')
  await mkdir(storePath(directory, '@a/unreadable'))
  await requireKeysOfStores(files, directory, contractRing)
  await assert.rejects(
    requireKeysOfStores(files, directory, createKeyRing([randomBytes(32)])),
    SecretKeyError,
  )
})

test('values of the first version, which had no checksum, are read and are kept as those of today', async (t) => {
  const directory = await temporaryDirectory(t)
  const path = storePath(directory, '@a/meter')
  await mkdir(storesFolderIn(directory))
  const entries = { count: { value: 7 } }
  await writeFile(path, JSON.stringify({ version: 1, entries }))
  const create = () =>
    createKeyValueStores({
      ...{ directory, files: systemFileSystem, clock: systemClock },
      ...{ logger: silentLogger, ring: createKeyRing([]) },
    })
  const stores = create()
  assert.deepEqual({ ...(await stores.open('@a/meter')) }, entries)
  stores.set('@a/meter', 'more', { value: 8 })
  await stores.close()
  const next = create()
  const all = { ...entries, more: { value: 8 } }
  assert.deepEqual({ ...(await next.open('@a/meter')) }, all)
  await next.close()

  // With a checksum no byte may be another one: without it this would read as well.
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(':8}', ':9}'))
  const last = create()
  assert.deepEqual({ ...(await last.open('@a/meter')) }, {})
  await last.close()
})
