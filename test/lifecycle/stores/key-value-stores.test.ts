import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { systemFileSystem } from '../../../src/base/file-system.ts'
import { silentLogger } from '../../../src/base/log.ts'
import { storePath, storesFolderIn } from '../../../src/lifecycle/stores/key-value-file.ts'
import { createKeyValueStores } from '../../../src/lifecycle/stores/key-value-stores.ts'
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
