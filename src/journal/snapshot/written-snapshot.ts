import { join } from 'node:path'
import type { HostFile } from '../../schema/journal/host-file.ts'
import type { Journal } from '../journal.ts'
import { snapshotFileName, snapshotOf } from './snapshot.ts'

/**
 * What the host wrote into `.host.json` after the event that the file names. One that names none counts as written by a
 * person, in place of what is in the journal now. Throws one sentence when the journal does not reach back so far.
 */
export function writtenSnapshot(
  directory: string,
  journal: Pick<Journal, 'first' | 'live' | 'stateAt' | 'eventId'>,
  { journal: named }: HostFile,
): HostFile {
  const seq = named?.seq ?? journal.live.seq
  if (seq >= journal.first - 1) return snapshotOf(journal.stateAt(seq), {}, journal.eventId(seq))
  throw new Error(
    `${join(directory, snapshotFileName)} was written after event ${seq}, and the events up to ` +
      `${journal.first - 1} have been moved away. Put their files back for one start, or move it away: then the ` +
      'host writes it anew from its journal. To have all of it taken as it is, take its member "journal" out.',
  )
}
