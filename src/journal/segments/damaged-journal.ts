import type { FileHandle } from 'node:fs/promises'
import type { FileSystem } from '../../base/files/file-system.ts'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import type { NewerFormatError } from '../lines/upcast.ts'

const effectOnLast = (witness: string): string =>
  `it keeps a copy of the file, cuts it there and takes the settings from ${witness}`
const effectOnEnded =
  'it puts this file and those before it aside; the state of the plugins stays, as the next file has it'

/** A line that cannot be believed, and is not just the torn end of a write that nobody was told of. */
export class DamagedJournalError extends Error {
  override readonly name = 'DamagedJournalError'
  readonly path: string
  /** Line number from 1, and position of its first byte from 0. */
  readonly line: number
  readonly offset: number
  /** It is in a segment that others follow. */
  readonly ended: boolean
  /** Number of the last event before it, where that is known. */
  readonly last: number | undefined

  /** `witness`: the file that says what the lost events have led to. */
  constructor(
    path: string,
    line: number,
    offset: number,
    reason: string,
    {
      ended = false,
      last,
      witness = '.host.json',
    }: { ended?: boolean; last?: number; witness?: string } = {},
  ) {
    super(
      `${path} is damaged at line ${line} (byte ${offset}): ${reason}. ` +
        `Run "lupine repair" (in a checkout: npm start -- repair): ${ended ? effectOnEnded : effectOnLast(witness)}.`,
    )
    this.path = path
    this.line = line
    this.offset = offset
    this.ended = ended
    this.last = last
  }
}

/** A line that is whole, but of a newer version: nothing may be cut off, or repaired, because of it. */
export class NewerJournalError extends Error {
  override readonly name = 'NewerJournalError'

  constructor(path: string, line: number, { message }: NewerFormatError) {
    super(
      `Line ${line} of ${path} cannot be read: ${message}. Nothing is damaged: start that version again, or put the copy ` +
        'of the data directory in place that was made before its first start.',
    )
  }
}

/** Opens a file of the journal that is there. */
export async function openExisting(
  files: FileSystem,
  path: string,
  flags: string | number,
): Promise<FileHandle> {
  try {
    return await files.open(path, flags)
  } catch (error) {
    throw new UnusableFileError(path, error)
  }
}
