import { cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { createDeferred } from '../../src/base/time/deferred.ts'
import type { EmbeddedBusSettings } from '../../src/bus/embedded/embedded-bus.ts'
import { recordFolderName } from '../../src/bus/store/record-folder.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'
import { startBus } from './bus-fixture.ts'

/** Buses on one data directory, one after the other. */
export async function createKeptBus(context: TestContext, settings: Partial<EmbeddedBusSettings> = {}) {
  const directory = await temporaryDirectory(context)
  const start = (other: Partial<EmbeddedBusSettings> = {}, at = directory) =>
    startBus(context, { disk: { directory: at, files: systemFileSystem }, ...settings, ...other })
  return {
    directory,
    folder: join(directory, recordFolderName),
    start,
    /** What a `kill -9` at this moment would leave behind, in a directory of its own. */
    async copy(): Promise<string> {
      const other = await temporaryDirectory(context)
      await cp(directory, other, { recursive: true })
      return other
    },
  }
}

/** A disk on which nothing of the broker is until `answer` is called. */
export function silentDisk() {
  const answered = createDeferred<undefined>()
  const files: FileSystem = {
    ...systemFileSystem,
    mkdir: async (...given) => {
      await answered.promise
      await systemFileSystem.mkdir(...given)
    },
  }
  return { files, answer: () => answered.resolve(undefined) }
}

/** All bytes of the broker's folder. */
export async function bytesOnDisk(directory: string): Promise<Buffer> {
  const folder = join(directory, recordFolderName)
  const names = await readdir(folder).catch(() => [])
  return Buffer.concat(
    await Promise.all(names.map((name) => readFile(join(folder, name)).catch(() => Buffer.alloc(0)))),
  )
}

/** Resolves when this is on disk. */
export async function untilOnDisk(directory: string, text: string): Promise<void> {
  await until(`${text} on disk`, async () => (await bytesOnDisk(directory)).includes(text))
}
