import { join } from 'node:path'
import type { FileSystem } from '../base/files/file-system.ts'
import { type KeyRing, SecretKeyError } from '../base/keys/key-ring.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { decodeStore, storeFiles, storesFolderIn } from '../lifecycle/stores/key-value-file.ts'
import { pluginOfName } from '../schema/names/identifier.ts'

/**
 * The stored values of a data directory. Throws `SecretKeyError` without the right key. `code`: the system's, of a file that
 * may be in order and could not be read.
 */
export async function readStores({
  files,
  directory,
  ring,
}: {
  files: FileSystem
  directory: string
  ring: KeyRing
}) {
  const read: { path: string; plugin: string; entries: ReturnType<typeof decodeStore> }[] = []
  const leftOut: { file: string; reason: string; code?: string | undefined }[] = []
  for (const name of await storeFiles(files, directory)) {
    const path = join(storesFolderIn(directory), name)
    const plugin = pluginOfName(name)
    if (plugin === undefined) {
      leftOut.push({ file: path, reason: 'its name is no plugin' })
      continue
    }
    try {
      read.push({ path, plugin, entries: decodeStore(plugin, await files.readFile(path), ring) })
    } catch (error) {
      if (error instanceof SecretKeyError) throw error
      leftOut.push({ file: path, reason: messageOf(error), code: systemErrorCode(error) })
    }
  }
  return { read, leftOut }
}
