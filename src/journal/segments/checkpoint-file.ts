import { join } from 'node:path'
import { type FileSystem, writeFileAtomically } from '../../base/files/file-system.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import { type Checkpoint, parseCheckpoint } from '../../schema/journal/stored-state.ts'
import { decodeLine, encodeLine } from '../lines/journal-line.ts'
import { hashOfBeginning } from '../lines/line-reader.ts'
import { systemErrorCode } from '../../base/problem.ts'
import type { FoundSegment, Segment } from './segment.ts'
import { changeStoredState, foldVersion, storeState, type FoldedEvents } from '../fold/stored-state.ts'
import type { Vault } from '../vault.ts'

/**
 * `.host.checkpoint`: the fold of the journal as far as it says, so that a start need not begin from the first
 * event. It is no truth of its own: it may be deleted at any time, and is not believed when anything speaks
 * against it. The journal is then read as a whole. Where `.host.json` is gone, it is the one that knows how far the journal
 * went (`snapshot/known-end.ts`).
 */

export const checkpointFileName = '.host.checkpoint'

/** Milliseconds after which a change of a file shows in its time, on every file system. */
const timeResolution = 2_000

/** The content of the file. `sha256`: of the last segment; `now`: milliseconds since 1970. */
export function encodeCheckpoint(
  folded: FoldedEvents,
  segments: readonly Segment[],
  { sha256, now, vault }: { sha256: string; now: number; vault: Vault },
): string {
  const base = changeStoredState(vault.seal, storeState(folded))
  const positions = new Map(base.plugins.map(({ context }, position) => [context.id, position]))
  const entries = segments.map((segment, position) => {
    const { first, last, bytes, changed, plugins } = segment
    const ended = position < segments.length - 1
    return {
      first,
      last,
      bytes,
      sha256: ended ? segment.sha256 : sha256,
      changed: ended && changed.at < now - timeResolution ? changed.stamp : null,
      plugins: [...plugins].flatMap((id) => positions.get(id) ?? []),
    }
  })
  return `${encodeLine({ version: 1, fold: foldVersion, base, segments: entries } satisfies Checkpoint)}\n`
}

export function writeCheckpoint(files: FileSystem, directory: string, content: string): Promise<void> {
  return writeFileAtomically(files, join(directory, checkpointFileName), content, privateFileMode)
}

/** Makes the next start read the whole journal. */
export function removeCheckpoint(files: FileSystem, directory: string): Promise<void> {
  return files.rm(join(directory, checkpointFileName), { force: true })
}

export interface KnownBeginning {
  folded: FoldedEvents
  /** Those of `found` that it is the fold of, of the last one its beginning. */
  segments: Segment[]
}

/**
 * What the file says by itself, whatever the journal is; undefined when it is not there, or is not to be believed. Throws one
 * sentence when it cannot be read: it may be all that has the settings.
 */
export async function parseCheckpointFile(
  files: FileSystem,
  directory: string,
): Promise<Checkpoint | undefined> {
  const path = join(directory, checkpointFileName)
  const content = await files.readFile(path).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'ENOENT') throw new UnusableFileError(path, error)
    return undefined
  })
  if (content === undefined) return undefined
  const decoded = decodeLine(content.subarray(0, -1))
  const parsed = decoded.ok ? parseCheckpoint(decoded.value) : decoded
  return parsed.ok && parsed.value.fold === foldVersion ? parsed.value : undefined
}

/** What the checkpoint says, if it is that of these files; undefined whenever there is any doubt. Never throws. */
export async function readCheckpoint(
  files: FileSystem,
  directory: string,
  found: readonly FoundSegment[],
  restore: (base: Checkpoint['base']) => FoldedEvents,
): Promise<KnownBeginning | undefined> {
  try {
    const checkpoint = await parseCheckpointFile(files, directory)
    const segments = checkpoint && (await believed(files, checkpoint, found))
    return segments && { folded: restore(checkpoint.base), segments }
  } catch {
    return undefined
  }
}

/** Segments at the beginning may have been moved away; all others have to be there, and to be as they were. */
async function believed(
  files: FileSystem,
  { base, segments }: Checkpoint,
  found: readonly FoundSegment[],
): Promise<Segment[] | undefined> {
  const missing = segments.findIndex(({ first }) => first === found[0]?.first)
  if (missing === -1 || segments.at(-1)?.last !== base.seq) return undefined
  const result: Segment[] = []
  for (const [position, entry] of segments.slice(missing).entries()) {
    const file = found[position]
    if (file?.first !== entry.first || file.size < entry.bytes) return undefined
    // It has been cut into pieces since, or is about to be.
    const next = found[position + 1]
    if (next !== undefined && next.first <= entry.last) return undefined
    if (file.changed.stamp !== entry.changed && !(await isSame(files, file.path, entry))) return undefined
    const ids = entry.plugins.map((index) => base.plugins[index]?.context.id)
    if (ids.includes(undefined)) return undefined
    const plugins = new Set(ids.filter((id) => id !== undefined))
    const { first, last, bytes, sha256 } = entry
    result.push({ path: file.path, first, last, bytes, sha256, changed: file.changed, plugins })
  }
  return result
}

async function isSame(
  files: FileSystem,
  path: string,
  { bytes, sha256 }: { bytes: number; sha256: string },
): Promise<boolean> {
  const handle = await files.open(path, 'r')
  try {
    return (await hashOfBeginning(handle, bytes)) === sha256
  } finally {
    await handle.close()
  }
}
