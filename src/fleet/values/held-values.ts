import { randomUUID } from 'node:crypto'
import { type FleetValues, isAlive, type KeyValueEntry } from '../../schema/files/key-value-file.ts'
import { inBatches } from '../store/in-batches.ts'
import { StoreUnreachableError } from '../store/store-errors.ts'
import { numberOfParts, partOf } from './partition.ts'
import type { PartReference, ValueBucket } from './value-bucket.ts'

/**
 * The stored values of one plugin while this host holds it: in memory, and written under its epoch. What is to be written
 * goes into parts first, then the record that names them is replaced, on top of the one that this host wrote last. So a
 * change is there as a whole or not at all, and whoever took the plugin over has written that record and is in the way.
 */
export interface HeldValues {
  readonly epoch: number
  readonly entries: ReadonlyMap<string, KeyValueEntry>
  set(key: string, entry: KeyValueEntry | undefined): void
  /** Writes what has changed. `lost`: another holder has written; nothing of this one counts any more. */
  write(): Promise<'written' | 'lost'>
  /** Whether that record is of this holder, also where it was not heard whether it was taken. */
  isOwn(revision: number, record: FleetValues | undefined): boolean
}

export interface HeldRecord {
  revision: number
  record: FleetValues
}

export function createHeldValues(
  bucket: ValueBucket,
  plugin: string,
  held: HeldRecord,
  entries: Map<string, KeyValueEntry>,
  /** Whether they are what the record says; otherwise they are newer. */
  isWritten: boolean,
  now: () => number,
): HeldValues {
  const { epoch } = held.record
  let { revision } = held
  let parts: readonly PartReference[] = held.record.parts ?? []
  const sizes = new Map([...entries].map(([key, entry]) => [key, sizeOf(key, entry)]))
  let size = [...sizes.values()].reduce((sum, one) => sum + one, 0)
  /** Keys that have changed since they were written; undefined: everything is to be written. */
  let changed: Set<string> | undefined = isWritten ? new Set() : undefined
  /** Records that were sent and not heard of: one of them may be taken, on top of `revision`. */
  let unheard: { write: string; parts: readonly PartReference[] }[] = []

  function setSize(key: string, next: number): void {
    size += next - (sizes.get(key) ?? 0)
    if (next === 0) sizes.delete(key)
    else sizes.set(key, next)
  }

  /** Writes the parts that a change concerns. Answers all of them. */
  async function putParts(number: number, keys: ReadonlySet<string> | undefined): Promise<PartReference[]> {
    const isSame = keys !== undefined && number === parts.length
    const concerned = isSame ? new Set([...keys].map((key) => partOf(key, number))) : undefined
    const contents = new Map<number, [string, KeyValueEntry][]>()
    for (const each of entries) {
      const index = partOf(each[0], number)
      if (concerned?.has(index) === false || !isAlive(each[1], now())) continue
      const content = contents.get(index)
      if (content === undefined) contents.set(index, [each])
      else content.push(each)
    }
    const next: PartReference[] = Array.from({ length: number }, (_, index) =>
      isSame && concerned?.has(index) === false ? (parts[index] ?? null) : null,
    )
    await inBatches([...contents], async ([index, content]) => {
      next[index] = await bucket.putPart(plugin, epoch, bucket.seal(plugin, content))
    })
    return next
  }

  async function writeRecord(keys: ReadonlySet<string> | undefined): Promise<boolean> {
    const number = numberOfParts(size, parts.length)
    const next = number === 0 ? [] : await putParts(number, keys)
    const write = randomUUID()
    const content =
      number === 0
        ? {
            sealed: bucket.seal(
              plugin,
              [...entries].filter(([, entry]) => isAlive(entry, now())),
            ),
          }
        : { parts: next }
    unheard.push({ write, parts: next })
    const written = await bucket.write(plugin, { epoch, write, ...content }, revision)
    unheard = unheard.filter((one) => one.write !== write)
    if (!('seq' in written)) return false
    took(written.seq, next)
    return true
  }

  function took(seq: number, next: readonly PartReference[]): void {
    const kept = new Set(next.map((part) => part?.id))
    const old = parts.filter((part) => !kept.has(part?.id))
    revision = seq
    parts = next
    unheard = []
    // Nobody names them any more, nor ever will. What stays behind is collected by the next holder.
    bucket.purge(bucket.partSubjects(plugin, old)).catch(() => undefined)
  }

  /** Somebody was first: this host itself, without hearing of it, or the next holder. False: the latter. */
  async function catchUp(): Promise<boolean> {
    const found = await bucket.record(plugin)
    const own = unheard.find(({ write }) => write === found?.record?.write)
    if (found !== undefined && own !== undefined) {
      took(found.revision, own.parts)
      return true
    }
    if (found?.record !== undefined && found.record.epoch >= epoch) return false
    // It was emptied, or put back from a backup: what is in memory here is all there is.
    revision = found?.revision ?? 0
    parts = []
    return true
  }

  return {
    epoch,
    entries,
    set(key, entry) {
      if (entry === undefined) entries.delete(key)
      else entries.set(key, entry)
      setSize(key, entry === undefined ? 0 : sizeOf(key, entry))
      changed?.add(key)
    },
    async write() {
      for (;;) {
        const keys = changed
        changed = new Set()
        try {
          if (await writeRecord(keys)) return 'written'
          if (!(await catchUp())) return 'lost'
          changed = undefined
        } catch (error) {
          changed =
            keys === undefined || !(error instanceof StoreUnreachableError)
              ? undefined
              : new Set([...keys, ...(changed ?? [])])
          throw error
        }
      }
    },
    isOwn: (seq, record) =>
      seq === revision || (record !== undefined && unheard.some(({ write }) => write === record.write)),
  }
}

/** What an entry takes as JSON, in characters. */
function sizeOf(key: string, entry: KeyValueEntry): number {
  return JSON.stringify(key).length + JSON.stringify(entry).length
}
