import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { FileSystem } from '../../base/files/file-system.ts'
import { SecretKeyError } from '../../base/keys/key-ring.ts'
import { messageOf } from '../../base/problem.ts'
import type { SegmentBase } from '../../schema/journal/stored-state.ts'
import { checkpointFileName } from './checkpoint-file.ts'
import { DamagedJournalError, NewerJournalError, openExisting } from './damaged-journal.ts'
import { type Line, readLines } from '../lines/line-reader.ts'
import { NewerFormatError } from '../lines/upcast.ts'
import { createNumberList, type NumberList } from './number-list.ts'
import { decodeBase, type FoundSegment, type Segment } from './segment.ts'

/** Reading the journal from its beginning, or from where a checkpoint has seen it, to its end. */

/** What becomes of the lines. Each of them throws, with a sentence, at what it does not believe. */
export interface LineReceiver {
  /** Number of the last event that it has. */
  readonly seq: number
  /** Takes the next event. Answers the plugin that it is of. */
  event(line: Uint8Array): string | null
  /** Goes on from a state, or holds it against its own. */
  base(base: SegmentBase): void
}

export interface ReadOptions {
  /** Number of the last event that a caller was told of. */
  acknowledged: number
  /** Name of the file that says so. */
  witness: string
  /** How the segment is opened that is written to afterwards. */
  lastFlags: string | number
  onTorn: (path: string, text: string) => void
  /** Told of each event of a segment that was not known, once it is taken; gives the hash of the bytes so far. */
  onEvent?: (segment: Segment, plugin: string | null, hashSoFar: () => string) => void
}

/** The segment that is written to, when it has been read. */
export interface ReadSegments {
  /** Oldest first. */
  segments: Segment[]
  /** Of the last of them. */
  handle: FileHandle
  /** Of its bytes. */
  hash: Hash
  /** Where its events begin; one more than there are: the last is the end. */
  offsets: NumberList
  /** There is something behind its last event that has to be cut off. */
  torn: boolean
}

/**
 * Reads what is not `known`: of the last known segment what follows the bytes that are known, and all that come
 * after it. Throws `DamagedJournalError` and `NewerJournalError`. `found` has at least one.
 */
export async function readSegments(
  files: FileSystem,
  found: readonly FoundSegment[],
  known: readonly Segment[],
  receiver: LineReceiver,
  options: ReadOptions,
): Promise<ReadSegments> {
  const segments = known.slice(0, -1)
  for (let position = segments.length; ; position += 1) {
    const file = found[position]
    if (file === undefined) throw new RangeError('There is no segment to read')
    const next = found[position + 1]
    const handle = await openExisting(files, file.path, next === undefined ? options.lastFlags : 'r')
    try {
      const read = await readSegment(handle, file, known[position], next?.first, receiver, options)
      segments.push(read.segment)
      if (next !== undefined) {
        await handle.close()
        continue
      }
      return { segments, handle, ...read }
    } catch (error) {
      await handle.close()
      throw error
    }
  }
}

interface ReadSegment {
  segment: Segment
  hash: Hash
  offsets: NumberList
  torn: boolean
}

/** `nextFirst`: number with which the next segment begins; undefined for the last one. */
async function readSegment(
  handle: FileHandle,
  { path, first, size, changed }: FoundSegment,
  known: Segment | undefined,
  nextFirst: number | undefined,
  receiver: LineReceiver,
  { acknowledged, witness, onTorn, onEvent }: ReadOptions,
): Promise<ReadSegment> {
  const segment: Segment = { path, first, last: first - 1, bytes: 0, sha256: '', changed, plugins: new Set() }
  const hash = createHash('sha256')
  const offsets = createNumberList()
  const ended = nextFirst !== undefined
  let number = 0

  function reasonAgainst(line: Line): string | undefined {
    try {
      take(line)
      return undefined
    } catch (error) {
      // The line is whole, only its key is missing, or what can read it: nothing may be cut off or repaired because of that.
      if (error instanceof SecretKeyError || error instanceof OtherFoldError) throw error
      if (error instanceof NewerFormatError) throw new NewerJournalError(path, number, error)
      return messageOf(error)
    }
  }

  function damaged(start: number, reason: string): DamagedJournalError {
    return new DamagedJournalError(path, number, start, reason, { ended, last: segment.last, witness })
  }

  function takeFirst({ bytes, start }: Line): boolean {
    const base = decodeBase(bytes)
    if (base === undefined) {
      if (first > 1) throw new Error('it does not begin with the state that its events continue')
      offsets.push(start)
      return false
    }
    if (base.base.seq !== first - 1) throw new Error(`its state is that after event ${base.base.seq}`)
    if (known === undefined) receiver.base(base)
    offsets.push(start + bytes.length + 1)
    return true
  }

  let plugin: string | null = null
  function take(line: Line): void {
    if (number === 1 && takeFirst(line)) return
    if (known === undefined || line.start >= known.bytes) {
      plugin = receiver.event(line.bytes)
      if (plugin !== null) segment.plugins.add(plugin)
    }
    offsets.push(line.start + line.bytes.length + 1)
    segment.last += 1
  }

  function finish(torn: boolean): ReadSegment {
    if (known !== undefined) for (const plugin of known.plugins) segment.plugins.add(plugin)
    if (offsets.length === 0) offsets.push(0)
    segment.sha256 = hash.copy().digest('hex')
    return { segment, hash, offsets, torn }
  }

  for await (const { lines, bytes: batch, start: origin } of readLines(handle)) {
    let hashed = origin
    const hashUpTo = (end: number): void => {
      if (end <= hashed) return
      hash.update(batch.subarray(hashed - origin, end - origin))
      hashed = end
    }
    for (const line of lines) {
      if (segment.last + 1 === nextFirst) break
      number += 1
      const end = line.start + line.bytes.length + 1
      const reason = line.whole ? reasonAgainst(line) : 'it ends in the middle of a line'
      if (reason === undefined) {
        segment.bytes = end
        if (known === undefined && segment.last >= first) {
          onEvent?.(segment, plugin, () => {
            hashUpTo(end)
            return hash.copy().digest('hex')
          })
        }
        continue
      }
      hashUpTo(segment.bytes)
      // A crash leaves only the end of the last write; the state at the top was there before the file got its name.
      const isTorn = !ended && end >= size && segment.last + 1 > acknowledged && !(number === 1 && first > 1)
      if (!isTorn) throw damaged(line.start, reason)
      onTorn(path, line.bytes.toString('utf8'))
      return finish(true)
    }
    hashUpTo(segment.bytes)
    if (segment.last + 1 === nextFirst) return finish(false)
  }
  number += 1
  if (nextFirst !== undefined) {
    throw damaged(
      segment.bytes,
      `its events end with ${segment.last}, and the next file begins with ${nextFirst}`,
    )
  }
  if (first > 1 && offsets.length === 0) throw damaged(0, 'it is empty')
  if (segment.last < acknowledged) {
    // Nothing else goes by the checkpoint, so an older journal may be put back beside it.
    const advice =
      witness === checkpointFileName ? ' (if an older journal was put back, move that file away)' : ''
    throw damaged(segment.bytes, `it ends here, but ${witness} has seen ${acknowledged} events${advice}`)
  }
  return finish(false)
}

/** The state at the top was made by other rules, and what it follows from is not here. */
export class OtherFoldError extends Error {
  override readonly name = 'OtherFoldError'
}
