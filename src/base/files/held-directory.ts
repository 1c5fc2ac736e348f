import { constants } from 'node:fs'
import { platform } from 'node:os'
import { type FileSystem, isNotFound, systemFileSystem } from './file-system.ts'

/** Windows moves no folder in which a file is open. */
const isMovable = platform() !== 'win32'

const { O_RDWR, O_WRONLY } = constants

const isForWriting = (flags: string | number | undefined): boolean =>
  typeof flags === 'number' ? (flags & (O_WRONLY | O_RDWR)) !== 0 : flags !== undefined && flags !== 'r'

/** What was written there would be lost, and in the way of whoever puts the directory back. */
export function movedDirectoryError(message: string): Error {
  return Object.assign(new Error(message), { code: 'ESTALE' })
}

export interface HeldDirectory {
  files: FileSystem
  /** Whether it is another directory by now, or none. A disk that does not say is taken for the same. */
  isMoved(): Promise<boolean>
  release(): Promise<void>
}

/**
 * The same file system while a process writes into a directory that others may move away, replace or unmount: what would make
 * a file or folder in another one of that name, or make it anew, is refused (ESTALE). To be released at the end.
 */
export async function holdDirectory(files: FileSystem, directory: string): Promise<HeldDirectory> {
  if (!isMovable) return { files, isMoved: () => Promise.resolve(false), release: () => Promise.resolve() }
  // Some file systems number what nobody has open anew.
  const handle = await systemFileSystem.open(directory, 'r')
  const own = await handle.stat()

  async function isMoved(): Promise<boolean> {
    const found = await files.stat(directory).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    return found?.ino !== own.ino || found.dev !== own.dev
  }

  async function requireDirectory(): Promise<void> {
    if (await isMoved()) throw movedDirectoryError(`${directory} is another directory by now, or none`)
  }

  return {
    files: {
      ...files,
      async open(path, flags, mode) {
        if (isForWriting(flags)) await requireDirectory()
        return files.open(path, flags, mode)
      },
      mkdir: (async (path, options) => {
        await requireDirectory()
        return files.mkdir(path, options)
      }) as FileSystem['mkdir'],
    },
    isMoved: () => isMoved().catch(() => false),
    release: () => handle.close(),
  }
}
