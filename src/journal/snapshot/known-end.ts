import { join } from 'node:path'
import type { FileSystem } from '../../base/files/file-system.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import { restoreState } from '../fold/stored-state.ts'
import { checkpointFileName, parseCheckpointFile } from '../segments/checkpoint-file.ts'
import { endedSegments, journalFileName } from '../segments/segment.ts'
import { snapshotFileName, snapshotOf } from './snapshot.ts'

/**
 * How far the journal went that was on disk, as another file says: `.host.json`, and where that is gone the checkpoint. A
 * journal that is shorter than that, or is gone with `.host.json`, is no new one: it would take the place of what was lost.
 */
export interface KnownEnd {
  /** Number of the last event; 0: nobody says. */
  acknowledged: number
  /** Name of the file that says so. */
  witness: string
  /** What `.host.json` would say by the checkpoint, where it is gone; secrets are as they stand there. */
  spare: HostFile | undefined
}

/** The file with the history is gone, and what would tell the settings too. The message says what is there, and what to do. */
export class LostJournalError extends Error {
  override readonly name = 'LostJournalError'
  /** As `KnownEnd.spare`, where a new history can begin with it. */
  readonly spare: HostFile | undefined

  constructor(directory: string, ended: string | undefined, spare: HostFile | undefined) {
    super(lostIn(directory, ended, spare))
    this.spare = spare
  }
}

/** `file`: `.host.json`, if there is one. Throws `LostJournalError`, and where the checkpoint is asked and cannot be read. */
export async function knownEnd(
  files: FileSystem,
  directory: string,
  file: HostFile | undefined,
): Promise<KnownEnd> {
  if (file !== undefined) {
    return { acknowledged: file.journal?.seq ?? 0, witness: snapshotFileName, spare: undefined }
  }
  const spare = await snapshotInCheckpoint(files, directory)
  const names = await files.readdir(directory)
  if (!names.includes(journalFileName)) {
    const ended = endedSegments(names).at(-1)?.name
    const left = ended ?? names.find((name) => name === checkpointFileName)
    // The end of a process leaves no more than this while a new segment is begun, and then the checkpoint is older.
    const isInterrupted = ended !== undefined && spare !== undefined
    if (left !== undefined && !isInterrupted) throw new LostJournalError(directory, ended, spare)
  }
  return { acknowledged: spare?.journal?.seq ?? 0, witness: checkpointFileName, spare }
}

/** The state that the checkpoint has, in the form of `.host.json`. Throws where it cannot be read. */
export async function snapshotInCheckpoint(
  files: FileSystem,
  directory: string,
): Promise<HostFile | undefined> {
  const checkpoint = await parseCheckpointFile(files, directory)
  if (checkpoint === undefined) return undefined
  const { state, event } = restoreState(checkpoint.base)
  return snapshotOf(state, {}, event ?? undefined)
}

function lostIn(directory: string, ended: string | undefined, spare: HostFile | undefined): string {
  const left = ended ?? checkpointFileName
  const lost =
    `${join(directory, journalFileName)} and ${snapshotFileName} are gone, but a host has run here: ${left} is still there. ` +
    'Put both back as they were. If they are lost: '
  if (ended !== undefined) {
    return (
      lost +
      `rename ${ended} to ${journalFileName}, and the host goes on from its last event, without what came after it.`
    )
  }
  const anew = `to begin with nothing, move ${checkpointFileName} away.`
  if (spare === undefined) return lost + anew
  return (
    lost +
    `"lupine repair" (in a checkout: npm start -- repair) takes the settings from ${checkpointFileName}, and the history ` +
    `begins anew; ${anew}`
  )
}
