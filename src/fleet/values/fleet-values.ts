import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'
import { createDelayedWrite, type DelayedWrite } from '../../base/files/delayed-write.ts'
import { SecretKeyError } from '../../base/keys/key-ring.ts'
import type { Logger } from '../../base/log/log.ts'
import { createKeyedMutex } from '../../base/mutex.ts'
import { messageOf } from '../../base/problem.ts'
import { aliveEntries, type KeyValueEntry } from '../../schema/files/key-value-file.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import { retrying } from '../store/retrying.ts'
import { StoreRefusedError, StoreUnreachableError } from '../store/store-errors.ts'
import { createHeldValues, type HeldRecord, type HeldValues } from './held-values.ts'
import type { FoundRecord, ValueBucket } from './value-bucket.ts'
import { epochOfPart } from './value-names.ts'

interface Store {
  held: HeldValues
  file: DelayedWrite
}

/** In the store of the fleet. docs/fleet.md tells why a host that has lost a plugin writes nothing any more. */
export function createFleetValues(settings: {
  bucket: ValueBucket
  clock: Clock
  logger: Logger
  /** The epoch under which this host holds a plugin now; undefined: it does not. Asked before each write. */
  epochOf: (plugin: string) => number | undefined
}): KeyValueStores {
  const { bucket, clock, logger, epochOf } = settings
  const stores = new Map<string, Store>()
  const tidying = new Set<Promise<void>>()
  /** A plugin may be loaded again while it is still being loaded: two that take it under one epoch would each find the other in its way. */
  const mutex = createKeyedMutex()
  let closed = false
  /** Plugins whose values could not be written: it is told once. */
  const failing = new Set<string>()

  const trying = <T>(task: () => Promise<T>): Promise<T> => retrying(clock, task)

  function createStore(plugin: string, held: HeldValues): Store {
    const file = createDelayedWrite(
      clock,
      async () => {
        // A store that elects a leader is silent for seconds, and who has the plugin next has only what is written now.
        const outcome = await (failing.has(plugin) ? writeHeld() : trying(writeHeld))
        if (outcome === 'written') return
        if (stores.get(plugin)?.held === held) stores.delete(plugin)
        // What was set meanwhile, too: nobody would end further tries.
        void file.discard()
        logger.warn('Stored values were not written: another host has taken the plugin over', { plugin })
      },
      (error) => {
        if (failing.has(plugin)) return
        failing.add(plugin)
        logger.error('Stored values could not be written to the store of the fleet; it is tried again', {
          plugin,
          error: messageOf(error),
        })
      },
    )
    return { held, file }

    async function writeHeld(): Promise<'written' | 'lost'> {
      if (epochOf(plugin) === held.epoch) {
        const outcome = await held.write()
        if (failing.delete(plugin)) logger.info('The stored values could be written again', { plugin })
        return outcome
      }
      const found = await bucket.record(plugin)
      // A later epoch may be one that this host has begun to take without hearing of it.
      const isOwn = found !== undefined && held.isOwn(found.revision, found.record)
      if (!isOwn && (found?.record?.epoch ?? 0) > held.epoch) return 'lost'
      throw new Error('this host does not hold the plugin now')
    }
  }

  /** Writes the own epoch on top of whatever is there; from then on no older holder writes. */
  async function take(
    plugin: string,
    epoch: number,
    old: HeldValues | undefined,
    attempts: Map<string, FoundRecord | undefined>,
    report: ((sentence: string) => void) | undefined,
  ): Promise<{ before: FoundRecord | undefined; taken: HeldRecord }> {
    for (;;) {
      const before = await bucket.record(plugin)
      if (before !== undefined && before.record === undefined) {
        await putAside(plugin, before, before.reason, report)
      } else if (before !== undefined && before.record.epoch > epoch) {
        throw new StoreRefusedError(
          `The stored values of ${plugin} belong to its epoch ${before.record.epoch}, and this host holds it under ` +
            `${epoch} only: another host has taken it over.`,
        )
      }
      const { sealed, parts } = before?.record ?? {}
      const content = {
        ...(sealed === undefined ? {} : { sealed }),
        ...(parts === undefined ? {} : { parts }),
      }
      // Whoever holds it here has more than is written: it is to know this write again, should the answer be lost for good.
      const isOwn = before !== undefined && old?.isOwn(before.revision, before.record) === true
      const record = { epoch, write: isOwn ? old.nameWrite() : randomUUID(), ...content }
      // It may be taken without a word; then it is found by the next try.
      const found = attempts.has(before?.record?.write ?? '')
        ? attempts.get(before?.record?.write ?? '')
        : before
      attempts.set(record.write, found)
      const written = await bucket.write(plugin, record, before?.revision ?? 0)
      if (!('seq' in written)) continue
      return { before: found, taken: { revision: written.seq, record: { version: 1, ...record } } }
    }
  }

  async function putAside(
    plugin: string,
    found: FoundRecord,
    reason: string,
    report: ((sentence: string) => void) | undefined,
  ): Promise<void> {
    const kept = await bucket.putAside(plugin, found)
    logger.error('Stored values could not be read; they were put aside and the plugin starts with none', {
      ...{ plugin, kept, error: reason },
    })
    report?.(`The stored values are damaged (${reason}): they were put aside as ${kept}, none is left here.`)
  }

  async function read(
    plugin: string,
    taken: HeldRecord,
    report: ((sentence: string) => void) | undefined,
  ): Promise<Map<string, KeyValueEntry>> {
    try {
      return await trying(() => bucket.entries(plugin, taken.record))
    } catch (error) {
      // Nothing is wrong with the values.
      if (error instanceof SecretKeyError || error instanceof StoreUnreachableError) throw error
      await trying(() => putAside(plugin, taken, messageOf(error), report))
      return new Map()
    }
  }

  /** Takes away what older holders have left behind: parts that no record names, nor can name any more. */
  function tidy(plugin: string, { record }: HeldRecord): void {
    const named = new Set(bucket.partSubjects(plugin, record.parts ?? []))
    const work = (async () => {
      const old = (await bucket.parts(plugin)).filter(
        (subject) => !named.has(subject) && (epochOfPart(subject) ?? Infinity) < record.epoch,
      )
      await bucket.purge(old)
    })()
      .catch(() => undefined)
      .finally(() => tidying.delete(work))
    tidying.add(work)
  }

  async function release(plugin: string): Promise<void> {
    const store = stores.get(plugin)
    await store?.file.flush()
    // What could not be written stays in memory, and is tried again while this host holds the plugin.
    if (store?.file.isWaiting === false && stores.get(plugin) === store) stores.delete(plugin)
  }

  async function open(
    plugin: string,
    report: ((sentence: string) => void) | undefined,
  ): Promise<Record<string, KeyValueEntry>> {
    await release(plugin)
    const epoch = epochOf(plugin)
    if (epoch === undefined) throw new StoreRefusedError(`This host does not hold ${plugin}.`)
    const old = stores.get(plugin)
    const attempts = new Map<string, FoundRecord | undefined>()
    const { before, taken } = await trying(() => take(plugin, epoch, old?.held, attempts, report))
    let entries: Map<string, KeyValueEntry>
    const isOwn = before !== undefined && old?.held.isOwn(before.revision, before.record) === true
    if (old !== undefined) {
      stores.delete(plugin)
      await old.file.discard()
    }
    if (old !== undefined && isOwn) {
      // Nobody has written meanwhile: what is in memory is newer.
      entries = new Map(old.held.entries)
    } else {
      entries = await read(plugin, taken, report)
      tidy(plugin, taken)
    }
    // Nobody would end its writes any more.
    if (closed) throw new StoreRefusedError(`The values of ${plugin} are not opened: the host ends.`)
    const held = createHeldValues(bucket, plugin, taken, entries, !isOwn, () => clock.now())
    const store = createStore(plugin, held)
    stores.set(plugin, store)
    if (isOwn) store.file.changed()
    return aliveEntries(entries, clock.now())
  }

  async function remove(plugin: string): Promise<void> {
    const store = stores.get(plugin)
    stores.delete(plugin)
    await store?.file.discard()
    await trying(async () => {
      for (;;) {
        // Looked up before: what is written later may belong to whoever has the plugin then.
        const rest = await bucket.rest(plugin)
        const found = await bucket.record(plugin)
        if (found === undefined && rest.length === 0) return
        const epoch = Math.max(found?.record?.epoch ?? 0, epochOf(plugin) ?? 0)
        const written = await bucket.write(plugin, { epoch, write: randomUUID() }, found?.revision ?? 0)
        if (!('seq' in written)) continue
        await bucket.purge(rest)
        return
      }
    })
  }

  return {
    open: (plugin, report) => mutex.run(plugin, () => open(plugin, report)),
    set(plugin, key, entry) {
      const store = stores.get(plugin)
      if (store === undefined) return
      store.held.set(key, entry)
      store.file.changed()
    },
    release: (plugin) => mutex.run(plugin, () => release(plugin)),
    remove: (plugin) => mutex.run(plugin, () => remove(plugin)),
    async recover() {
      // What a host that died has left behind is collected when its plugin is opened.
    },
    started: () => undefined,
    async close() {
      closed = true
      await Promise.all([...stores.keys()].map(release))
      for (const [plugin, { file }] of stores) {
        if (file.isWaiting)
          logger.error(
            'Stored values could not be written to the store of the fleet: what has changed in them since is lost',
            {
              plugin,
            },
          )
        await file.discard()
      }
      stores.clear()
      await Promise.all(tidying)
    },
  }
}
