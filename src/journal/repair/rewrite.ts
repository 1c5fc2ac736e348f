import type { FileHandle } from 'node:fs/promises'
import { type FileSystem, writeFileAtomically } from '../../base/files/file-system.ts'
import type { JsonObject } from '../../base/text/json.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import type { StoredState } from '../../schema/journal/stored-state.ts'
import { removeCheckpoint } from '../segments/checkpoint-file.ts'
import { openExisting } from '../segments/damaged-journal.ts'
import { decodeLine, encodeLine } from '../lines/journal-line.ts'
import { readLines } from '../lines/line-reader.ts'
import { decodeBase, findSegments } from '../segments/segment.ts'

export interface Changes {
  event(event: JsonObject): JsonObject
  state(state: StoredState): StoredState
}

/**
 * Writes every line of the journal anew, each segment as a whole: the old file stays until the new one is on disk.
 * For a journal that was opened before, and so is known to be sound. Answers the number of events.
 */
export async function rewriteJournal(
  files: FileSystem,
  directory: string,
  changes: Changes,
): Promise<number> {
  // It is no more the fold of these bytes, and it holds the same secrets.
  await removeCheckpoint(files, directory)
  const found = await findSegments(files, directory)
  let events = 0
  for (const [position, { path }] of found.entries()) {
    const end = found[position + 1]?.first ?? Infinity
    const handle = await openExisting(files, path, 'r')
    async function* pieces(): AsyncGenerator<string> {
      for await (const piece of changedLines(handle, changes, end)) {
        events += piece.events
        yield piece.text
      }
    }
    try {
      await writeFileAtomically(files, path, pieces(), privateFileMode)
    } finally {
      await handle.close()
    }
  }
  return events
}

/** About a megabyte at a time. `end`: number of the first event that is in another segment. */
async function* changedLines(
  handle: FileHandle,
  { event, state }: Changes,
  end: number,
): AsyncGenerator<{ text: string; events: number }> {
  for await (const { lines } of readLines(handle)) {
    let text = ''
    let events = 0
    let atEnd = false
    for (const { bytes } of lines) {
      const base = decodeBase(bytes)
      if (base !== undefined) {
        text += `${encodeLine({ ...base, base: state(base.base) })}\n`
        continue
      }
      const decoded = decodeLine(bytes)
      // What a crash has left at the end.
      atEnd = !decoded.ok || Number(decoded.value.seq) >= end
      if (!decoded.ok || atEnd) break
      text += `${encodeLine(event(decoded.value))}\n`
      events += 1
    }
    yield { text, events }
    if (atEnd) return
  }
}
