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
  const accept = (line: Uint8Array): void => void decoded(line)
  const file = await openJournalFile(files, path, accept, { acknowledged: 0, onTorn: () => undefined })
  /** A few megabytes at a time: all of it may be more than fits into memory, or into one text. */
  function* pieces(): Generator<string> {
    for (let next = 1; next <= file.lines;) {
      const lines = file.read(next, file.lines)
      yield lines.map((line) => `${encodeLine(change(decoded(line)))}\n`).join('')
      next += lines.length
    }
  }
  try {
    if (file.lines > 0) await writeFileAtomically(files, path, pieces(), privateFileMode)
    return file.lines
  } finally {
    await file.close()
  }
}

function decoded(line: Uint8Array): JsonObject {
  const result = decodeLine(line)
  if (!result.ok) throw new Error(result.reason)
  return result.value
}
