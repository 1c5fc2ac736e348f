import { createHash } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../base/time/clock.ts'
import { pause } from '../../base/time/wait.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import { retrying } from '../store/retrying.ts'
import { StoreRefusedError } from '../store/store-errors.ts'
import { inBatches } from '../store/in-batches.ts'
import { type FoundObject, type ObjectBucket, openObjectBucket } from './object-bucket.ts'

/** The files of all plugins of a fleet, each once, by their SHA-256: what the facts name, every host can fetch. */
export interface FleetFiles {
  /**
   * Resolves when every one of these files is in the store, whole. They are to be put there before a fact names them;
   * who has paused between the two for longer than `collectAfter` puts them again.
   */
  put(contents: Iterable<Uint8Array>): Promise<void>
  /**
   * The files that a fact names, by their paths, each checked against its hash. Throws `StoreRefusedError` with one sentence about
   * what is missing, damaged or too large, and `StoreUnreachableError`.
   */
  fetch(plugin: string, integrity: Integrity): Promise<Map<string, Uint8Array>>
  /**
   * Removes what nobody names: files that were not among `named` in two calls of this host at least `collectAfter`
   * apart, and that nobody has put meanwhile. Answers how many. To be called with the hashes of all plugins, kept
   * versions included, as the journal has them.
   */
  collect(named: ReadonlySet<string>): Promise<number>
}

export interface FileLimits {
  fileBytes: number
  pluginBytes: number
  pluginFiles: number
}

/** Milliseconds that a file is there without being named, at least: from when it is put until the fact is written. */
export const collectAfter = 600_000

/** Milliseconds, at most, by which whoever was second waits longer each time. */
const contention = 100

export function filesBucketName(fleet: string): string {
  return `LUPINE_${fleet}_FILES`
}

export async function openFleetFiles(
  connection: NatsConnection,
  fleet: string,
  parts: { clock: Clock; limits: FileLimits },
): Promise<FleetFiles> {
  return createFleetFiles({ ...parts, bucket: await openObjectBucket(connection, filesBucketName(fleet)) })
}

export function createFleetFiles(settings: {
  bucket: ObjectBucket
  clock: Clock
  limits: FileLimits
}): FleetFiles {
  const { bucket, clock, limits } = settings
  /** What nobody named when it was looked at last, since when, on the monotonic clock. */
  const unnamed = new Map<string, { revision: number; since: number }>()

  /** Undefined: it is missing, or damaged. */
  async function content({ object }: FoundObject): Promise<Uint8Array | undefined> {
    if (object.deleted === true || object.size > limits.fileBytes) return undefined
    const bytes = await bucket.chunks(object)
    return bytes.length === object.size && sha256(bytes) === object.name ? bytes : undefined
  }

  async function putOne(bytes: Uint8Array): Promise<void> {
    const name = sha256(bytes)
    for (let tries = 1; ; tries += 1) {
      const found = await bucket.find(name)
      const isThere = found !== undefined && (await content(found)) !== undefined
      const written = isThere
        ? await bucket.write(found.object, found.revision)
        : await writeAnew(name, bytes, found)
      // Somebody else was first: who collected it, or who puts the same.
      if ('seq' in written) return
      // Two that write the same at once are not to hinder each other for ever.
      await pause(clock, Math.random() * tries * contention)
    }
  }

  /** Says first where the chunks will be, so that whoever collects them is seen, and nobody collects unseen. */
  async function writeAnew(name: string, bytes: Uint8Array, before: FoundObject | undefined) {
    const nuid = bucket.newNuid()
    const nothing = { name, nuid, size: 0, chunks: 0, deleted: true }
    const reserved = await bucket.write(nothing, before?.revision ?? 0)
    if (!('seq' in reserved)) return reserved
    if (before !== undefined) await bucket.purgeChunks(before.object.nuid)
    const object = {
      ...{ name, nuid, size: bytes.length, chunks: await bucket.putChunks(nuid, bytes) },
      digest: `SHA-256=${Buffer.from(name, 'hex').toString('base64').replaceAll('+', '-').replaceAll('/', '_')}`,
      mtime: new Date(clock.now()).toISOString(),
      deleted: false,
    }
    const written = await bucket.write(object, reserved.seq)
    if (!('seq' in written)) await bucket.purgeChunks(nuid)
    return written
  }

  async function fetchOne(plugin: string, file: string, name: string): Promise<Uint8Array> {
    const where = `The file ${file} of ${plugin} (SHA-256 ${name})`
    const advice = 'A host that has it puts it back; or update the plugin, to fetch it again.'
    const found = await retrying(clock, () => bucket.find(name))
    if (found === undefined || found.object.deleted === true) {
      throw new StoreRefusedError(`${where} is missing in the fleet's store. ${advice}`)
    }
    if (found.object.size > limits.fileBytes) {
      throw new StoreRefusedError(`${where} is larger than ${limits.fileBytes} bytes; make it smaller.`)
    }
    const bytes = await retrying(clock, () => content(found))
    if (bytes === undefined)
      throw new StoreRefusedError(`${where} is damaged in the fleet's store. ${advice}`)
    return bytes
  }

  async function collectOne(name: string): Promise<boolean> {
    const found = await bucket.find(name)
    if (found === undefined) return false
    const { revision, object } = found
    const seen = unnamed.get(name)
    if (seen?.revision !== revision) {
      unnamed.set(name, { revision, since: clock.monotonic() })
      return false
    }
    if (clock.monotonic() - seen.since < collectAfter) return false
    const { nuid } = object
    const gone = await bucket.write({ name, nuid, size: 0, chunks: 0, deleted: true }, revision)
    if (!('seq' in gone)) return false
    await bucket.purgeChunks(nuid)
    // It may be somebody else's already, who puts the file again.
    await bucket.forget(gone.seq).catch(() => undefined)
    unnamed.delete(name)
    return true
  }

  return {
    put: (contents) => inBatches([...contents], (bytes) => retrying(clock, () => putOne(bytes))),
    async fetch(plugin, integrity) {
      const names = Object.entries(integrity)
      if (names.length > limits.pluginFiles) {
        throw new StoreRefusedError(`${plugin} has more than ${limits.pluginFiles} files; leave some out.`)
      }
      const found = new Map<string, Uint8Array>()
      let size = 0
      await inBatches(names, async ([file, name]) => {
        if (size > limits.pluginBytes) return
        const bytes = await fetchOne(plugin, file, name)
        size += bytes.length
        found.set(file, bytes)
      })
      if (size > limits.pluginBytes) {
        throw new StoreRefusedError(
          `The files of ${plugin} are larger than ${limits.pluginBytes} bytes together; make them smaller.`,
        )
      }
      return new Map(names.map(([file]) => [file, found.get(file) ?? new Uint8Array()]))
    },
    async collect(named) {
      const there = await bucket.names()
      for (const name of unnamed.keys()) if (named.has(name) || !there.includes(name)) unnamed.delete(name)
      let count = 0
      await inBatches(
        there.filter((name) => !named.has(name)),
        async (name) => {
          if (await collectOne(name)) count += 1
        },
      )
      return count
    },
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
