import { randomUUID } from 'node:crypto'
import { type FleetValues, isAlive, type KeyValueEntry } from '../../schema/files/key-value-file.ts'
import { inBatches } from '../store/in-batches.ts'
import { StoreUnreachableError } from '../store/store-errors.ts'
import { numberOfParts, partOf } from './partition.ts'
import type { PartReference, ValueBucket } from './value-bucket.ts'
import { epochOfPart } from './value-names.ts'

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
  /** A name for a write on top of the own record, by which it is known as of this holder. */
  nameWrite(): string
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
  /** All writes of this holder are called so at first: any of them may be taken without being heard of. */
  const name = `${randomUUID()}.`
  const nameWrite = (): string => `${name}${randomUUID()}`
  /**
   * Parts that were written for a record that is not known to be taken, of so many: the next try names them again, but for those
   * of which a value has changed.
   */
  const ready = new Map<number, PartReference>()
  let readyOf = 0
  /** Whether there may be parts that no record names: of tries that failed, or of this host's holder before. */
  let hasLeftBehind = !isWritten

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
    if (readyOf !== number) ready.clear()
    readyOf = number
    const failures: unknown[] = []
    await inBatches([...contents], async ([index, content]) => {
      if (failures.length > 0) return
      try {
        const part = ready.get(index) ?? (await bucket.putPart(plugin, epoch, bucket.seal(plugin, content)))
        ready.set(index, part)
        next[index] = part
      } catch (error) {
        // Not before all that are under way have ended: what has been written then is known.
        failures.push(error)
      }
    })
    if (failures.length > 0) throw failures[0]
    return next
  }

  async function writeRecord(keys: ReadonlySet<string> | undefined): Promise<boolean> {
    const number = numberOfParts(size, parts.length)
    const next = number === 0 ? [] : await putParts(number, keys)
    const content =
      number === 0
        ? {
            sealed: bucket.seal(
              plugin,
              [...entries].filter(([, entry]) => isAlive(entry, now())),
            ),
          }
        : { parts: next }
    const written = await bucket.write(plugin, { epoch, write: nameWrite(), ...content }, revision)
    if (!('seq' in written)) return false
    took(written.seq, next)
    if (hasLeftBehind) await collect()
    return true
  }

  function took(seq: number, next: readonly PartReference[]): void {
    const kept = new Set(next.map((part) => part?.id))
    const old = parts.filter((part) => !kept.has(part?.id))
    revision = seq
    parts = next
    ready.clear()
    // Nobody names them any more, nor ever will. What stays behind is collected by the next holder.
    bucket.purge(bucket.partSubjects(plugin, old)).catch(() => undefined)
  }

  /** Takes away what failed tries have left behind. Nothing is written meanwhile. */
  async function collect(): Promise<void> {
    const named = new Set(bucket.partSubjects(plugin, parts))
    try {
      const there = await bucket.parts(plugin)
      await bucket.purge(
        there.filter((subject) => !named.has(subject) && (epochOfPart(subject) ?? Infinity) <= epoch),
      )
      hasLeftBehind = false
    } catch {
      // After the next write.
    }
  }

  function dropReady(key: string): void {
    if (readyOf > 0) ready.delete(partOf(key, readyOf))
  }

  /** Somebody was first: this host itself, without hearing of it, or the next holder. False: the latter. */
  async function catchUp(): Promise<boolean> {
    const found = await bucket.record(plugin)
    hasLeftBehind = true
    if (found?.record?.write.startsWith(name) === true) {
      took(found.revision, found.record.parts ?? [])
      return true
    }
    if (found?.record !== undefined && found.record.epoch >= epoch) return false
    // It was emptied, or put back from a backup: what is in memory here is all there is.
    revision = found?.revision ?? 0
    parts = []
    ready.clear()
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
      dropReady(key)
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
          hasLeftBehind = true
          // They may have changed after they were read for this try.
          for (const key of changed ?? []) dropReady(key)
          if (!(error instanceof StoreUnreachableError)) ready.clear()
          changed =
            keys === undefined || !(error instanceof StoreUnreachableError)
              ? undefined
              : new Set([...keys, ...(changed ?? [])])
          throw error
        }
      }
    },
    isOwn: (seq, record) => seq === revision || record?.write.startsWith(name) === true,
    nameWrite,
  }
}

/** What an entry takes as JSON, in characters. */
function sizeOf(key: string, entry: KeyValueEntry): number {
  return JSON.stringify(key).length + JSON.stringify(entry).length
}
