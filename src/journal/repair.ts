import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type FileSystem, syncDirectory, writeFileAtomically } from '../base/file-system.ts'
import { privateFileMode } from '../base/private-files.ts'
import type { HostFile } from '../schema/host-file.ts'
import { journalFileName } from './journal.ts'
import { DamagedJournalError } from './journal-file.ts'
import { snapshotFileName } from './snapshot.ts'

/**
 * Cuts the journal before its first damaged line, after a copy was put beside it. What the lost events did
 * to the settings is in `.host.json`; the next start takes it over as an edit of that file.
 */
export async function repairJournal(
  directory: string,
  files: FileSystem,
  now: number,
  snapshot: HostFile | undefined,
  check: () => Promise<void>,
): Promise<{ copy: string; line: number; offset: number } | undefined> {
  try {
    await check()
    return undefined
  } catch (error) {
    if (!(error instanceof DamagedJournalError)) throw error
    const path = join(directory, journalFileName)
    const copy = `${path}.damaged-${new Date(now).toISOString().replaceAll(':', '-')}`
    // A copy by the system would have the rights of the file, whatever they are.
    await pipeline(
      createReadStream(path),
      createWriteStream(copy, { flags: 'wx', mode: privateFileMode, flush: true }),
    )
    // The copy's name first: it is all that is left of the lines that go.
    await syncDirectory(files, directory)
    const handle = await files.open(path, 'r+')
    try {
      await handle.truncate(error.offset)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (snapshot !== undefined) {
      // Without its number the snapshot counts as edited by hand: it says what the lost events had led to.
      const content = `${JSON.stringify({ ...snapshot, journal: {} }, null, 2)}\n`
      await writeFileAtomically(files, join(directory, snapshotFileName), content, privateFileMode)
    }
    return { copy, line: error.line, offset: error.offset }
  }
}
