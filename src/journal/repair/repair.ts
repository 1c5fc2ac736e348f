import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type FileSystem, syncDirectory, writeFileAtomically } from '../../base/files/file-system.ts'
import { quarantinedName, removeOldCopies } from '../../base/files/quarantine.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import { removeCheckpoint } from '../segments/checkpoint-file.ts'
import { DamagedJournalError } from '../segments/damaged-journal.ts'
import { endedSegments, journalFileName } from '../segments/segment.ts'
import { snapshotFileName } from '../snapshot/snapshot.ts'

/** What was done about one damaged line. */
export interface Repair {
  path: string
  line: number
  offset: number
  /** The file was cut before the line, and the events from there on are gone; else it was put aside as a whole. */
  cut: boolean
  /** Where the files are now, as they were. */
  copies: string[]
}

/**
 * Makes the journal whole again, and answers what was done, in order. The last file is cut before its first damaged
 * line, after a copy was put beside it. What the lost events did to the settings is in `.host.json`; the next
 * start takes it over as an edit of that file. A damaged file that others follow is put aside, with those before
 * it: the next one begins with the state after it, so that only history is lost. `check` reads all of the journal.
 * `spare`: as `KnownEnd.spare`.
 */
export async function repairJournal(
  directory: string,
  files: FileSystem,
  now: number,
  snapshot: HostFile | undefined,
  check: () => Promise<void>,
  spare?: HostFile,
): Promise<Repair[]> {
  const repairs: Repair[] = []
  const suffix = suffixAt(now)
  for (;;) {
    try {
      await check()
      return repairs
    } catch (error) {
      if (!(error instanceof DamagedJournalError)) throw error
      const { path, line, offset, ended, last } = error
      let settings = snapshot
      if (!ended && last !== undefined && (spare?.journal?.seq ?? 0) > last) {
        settings = spare
        // Before the checkpoint goes, where they are.
        await writeSnapshot(files, directory, spare)
      }
      await removeCheckpoint(files, directory)
      const copies = ended
        ? await quarantine(files, directory, path, suffix)
        : [await cut(files, directory, error, `${path}${suffix}`)]
      // Without its number the snapshot counts as edited by hand: it says what the lost events had led to.
      if (!ended && settings !== undefined)
        await writeSnapshot(files, directory, { ...settings, journal: {} })
      repairs.push({ path, line, offset, cut: !ended, copies })
      // All that is left has been read.
      if (!ended) return repairs
    }
  }
}

/** Puts all of a journal aside that is kept elsewhere, too, and can be read from there again. Answers where its files are now. */
export async function quarantineJournal(
  directory: string,
  now: number,
  parts: { files: FileSystem; logger: Logger },
): Promise<string[]> {
  const { files } = parts
  await removeCheckpoint(files, directory)
  const copies = await quarantine(
    files,
    directory,
    join(directory, journalFileName),
    quarantinedName('', now),
  )
  await removeOldCopies(directory, String(now), isSegment, parts)
  return copies
}

const isSegment = (name: string): boolean => name === journalFileName || endedSegments([name]).length > 0

/** Of a journal that is gone: the settings are those of `spare`, and the next start begins a history with them. */
export async function beginAnew(files: FileSystem, directory: string, spare: HostFile): Promise<void> {
  await writeSnapshot(files, directory, { ...spare, journal: {} })
  await removeCheckpoint(files, directory)
}

/** Not as a host names what it puts aside by itself: this one is never removed. */
const suffixAt = (now: number): string =>
  quarantinedName('', new Date(now).toISOString().replaceAll(':', '-'))

function writeSnapshot(files: FileSystem, directory: string, snapshot: HostFile | undefined): Promise<void> {
  const content = `${JSON.stringify(snapshot, null, 2)}\n`
  return writeFileAtomically(files, join(directory, snapshotFileName), content, privateFileMode)
}

async function cut(
  files: FileSystem,
  directory: string,
  { path, offset }: DamagedJournalError,
  copy: string,
): Promise<string> {
  // A copy by the system would have the rights of the file, whatever they are.
  await pipeline(
    createReadStream(path),
    createWriteStream(copy, { flags: 'wx', mode: privateFileMode, flush: true }),
  ).catch(async (error: unknown) => {
    // Half of it is no copy, and takes room on a disk that is full.
    await files.rm(copy, { force: true }).catch(() => undefined)
    throw error
  })
  // The copy's name first: it is all that is left of the lines that go.
  await syncDirectory(files, directory)
  if (offset === 0) {
    await files.rm(path)
    await syncDirectory(files, directory)
    return copy
  }
  const handle = await files.open(path, 'r+')
  try {
    await handle.truncate(offset)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return copy
}

/** The segments up to the one at `path`, or all. The oldest first: what is left is always a row without a gap. */
async function quarantine(
  files: FileSystem,
  directory: string,
  path: string,
  suffix: string,
): Promise<string[]> {
  const copies: string[] = []
  const names = await files.readdir(directory)
  const last = names.filter((name) => name === journalFileName)
  for (const name of [...endedSegments(names).map((ended) => ended.name), ...last]) {
    const from = join(directory, name)
    await files.rename(from, `${from}${suffix}`)
    copies.push(`${from}${suffix}`)
    if (from === path) break
  }
  await syncDirectory(files, directory)
  return copies
}
