import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isNotFound } from '../../base/files/file-system.ts'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import { indexFile } from '../../schema/manifest/repository-index.ts'
import { FileRefused, readContainedFile } from './contained-file.ts'
import type { ReadFolder } from './folder-reads.ts'
import type { RepositoryLimits } from '../limits.ts'
import { type Source, SourceError } from './source.ts'

/** A repository in a directory of this computer: in the first of `paths` that there is, a folder or the index in it. */
export function createDirectorySource(
  paths: readonly [string, ...string[]],
  limits: RepositoryLimits,
  readFolder: ReadFolder,
): Source {
  const [first] = paths
  let place = folderOf(first)
  let isChosen = paths.length === 1

  async function findPlace(): Promise<string> {
    for (const path of isChosen ? [] : paths) {
      if ((await statsOf(path)) === undefined) continue
      place = folderOf(path)
      break
    }
    isChosen = true
    return place
  }

  async function readFile(path: string, limit: number): Promise<Uint8Array | undefined> {
    try {
      return await readFolder(first, async () => readContainedFile(await findPlace(), path, limit))
    } catch (error) {
      if (error instanceof SourceError) throw error
      if (error instanceof FileRefused) throw new SourceError(`${path} ${error.message}`)
      if (isNotFound(error)) return undefined
      const advice = isSystemFault(error)
        ? 'the machine is short of something, or a disk fails; try again later'
        : 'check its permissions'
      throw new SourceError(
        `${path} cannot be read (${systemErrorCode(error) ?? messageOf(error)}); ${advice}`,
      )
    }
  }

  async function whyThereIsNoIndex(): Promise<string> {
    const stats = await readFolder(first, () => statsOf(place))
    if (stats === undefined) return 'there is no such folder; check its path'
    if (!stats.isDirectory()) return 'it is not a folder; give the folder that holds plugins.json'
    return `the folder holds no ${indexFile}; give the folder that holds it`
  }

  return {
    get place() {
      return place
    },
    remote: false,
    readFile,
    async readIndex() {
      const bytes = await readFile(indexFile, limits.indexBytes)
      if (bytes === undefined) throw new SourceError(await whyThereIsNoIndex())
      return { bytes, validators: {} }
    },
  }
}

function folderOf(path: string): string {
  return basename(path) === indexFile ? dirname(path) : path
}

/** Undefined: there is nothing. */
function statsOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined)
}
