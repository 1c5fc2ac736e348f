import { join } from 'node:path'
import { type FileSystem, writeFileAtomically } from '../base/file-system.ts'
import type { JsonObject } from '../base/json.ts'
import { privateFileMode } from '../base/private-files.ts'
import { journalFileName } from './journal.ts'
import { openJournalFile } from './journal-file.ts'
import { decodeLine, encodeLine } from './journal-line.ts'

/**
 * Writes every line of the journal anew, as a whole: the old file stays until the new one is on disk. For a
 * journal that was opened before, and so is known to be sound. Answers the number of lines.
 */
export async function rewriteJournal(
  files: FileSystem,
  directory: string,
  change: (event: JsonObject) => JsonObject,
): Promise<number> {
  const path = join(directory, journalFileName)
  const events: JsonObject[] = []
  const accept = (line: Uint8Array): void => {
    const decoded = decodeLine(line)
    if (!decoded.ok) throw new Error(decoded.reason)
    events.push(decoded.value)
  }
  const file = await openJournalFile(files, path, accept, { acknowledged: 0, onTorn: () => undefined })
  await file.close()
  const lines = events.map((event) => `${encodeLine(change(event))}\n`)
  if (lines.length > 0) await writeFileAtomically(files, path, lines.join(''), privateFileMode)
  return lines.length
}
