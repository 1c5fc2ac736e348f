import { stat } from 'node:fs/promises'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { indexFile } from '../schema/manifest/repository-index.ts'
import { FileRefused, readContainedFile } from './contained-file.ts'
import type { RepositoryLimits } from './limits.ts'
import { type Source, SourceError } from './source.ts'

/** A repository in a directory of this computer. */
export function createDirectorySource(root: string, limits: RepositoryLimits): Source {
  async function readFile(path: string, limit: number): Promise<Uint8Array | undefined> {
    try {
      return await readContainedFile(root, path, limit)
    } catch (error) {
      if (error instanceof FileRefused) throw new SourceError(`${path} ${error.message}`)
      const code = systemErrorCode(error)
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
      throw new SourceError(`${path} cannot be read (${code ?? messageOf(error)}); check its permissions`)
    }
  }

  async function whyThereIsNoIndex(): Promise<string> {
    const found = await stat(root).catch(() => undefined)
    if (found === undefined) return 'there is no such folder; check its path'
    if (!found.isDirectory()) return 'it is not a folder; give the folder that holds plugins.json'
    return `the folder holds no ${indexFile}; give the folder that holds it`
  }

  return {
    place: root,
    remote: false,
    readFile,
    async readIndex() {
      const bytes = await readFile(indexFile, limits.indexBytes)
      if (bytes === undefined) throw new SourceError(await whyThereIsNoIndex())
      return { bytes, validators: {} }
    },
  }
}
