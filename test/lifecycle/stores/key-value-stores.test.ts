import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { encodeLine } from '../../../src/journal/lines/journal-line.ts'
import { storePath, storesFolderIn } from '../../../src/lifecycle/stores/key-value-file.ts'
import { createKeyValueStores } from '../../../src/lifecycle/stores/key-value-stores.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
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
  const logger = createRecordingLogger()
  const stores = createKeyValueStores({ directory, files, clock: systemClock, logger, ring: contractRing })
  t.after(() => stores.close())
  await stores.open('@a/meter')
  stores.set('@a/meter', 'count', { value: 1 })
  for (let tries = 0; tries < 3; tries += 1) await stores.release('@a/meter')
  isFull = false
  await stores.release('@a/meter')
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
