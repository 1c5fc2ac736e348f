import { join } from 'node:path'
import type { FileSystem } from '../base/files/file-system.ts'
import { checkpointFileName } from '../journal/segments/checkpoint-file.ts'
import { endedSegments, journalFileName } from '../journal/segments/segment.ts'
import { snapshotFileName } from '../journal/snapshot/snapshot.ts'

/** Who the system says a file is of. */
export interface Owner {
  uid: number
  gid: number
}

export function noHostError(directory: string): Error {
  return new Error(
    `No host has run in ${directory}; name the data directory of one with HOST_DATA_DIR (--data-dir).`,
  )
}

/**
 * Of whom the state of the host in this directory is. Throws `noHostError` where there is none: whoever named the wrong
 * directory would be told that all is well in it. Undefined: it is not there, or cannot be looked into.
 */
export async function ownerOfState(files: FileSystem, directory: string): Promise<Owner | undefined> {
  const names = await files.readdir(directory).catch(() => undefined)
  if (names === undefined) return undefined
  // The journal first: an editor may have made the other one anew.
  const state = [journalFileName, endedSegments(names).at(-1)?.name, snapshotFileName, checkpointFileName]
  const found = state.find((name) => name !== undefined && names.includes(name))
  if (found === undefined) throw noHostError(directory)
  const { uid, gid } = await files.stat(join(directory, found))
  return { uid, gid }
}

/** Of whom the directory itself is, whether a host has run in it or not. Undefined: it is not there, or cannot be looked at. */
export async function ownerOfDirectory(files: FileSystem, directory: string): Promise<Owner | undefined> {
  const found = await files.stat(directory).catch(() => undefined)
  return found === undefined ? undefined : { uid: found.uid, gid: found.gid }
}
