import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { createWarner } from '../../base/log/warning.ts'
import { connectStore, type StoreAddress } from '../store/connect-store.ts'
import { pluginKey, pluginOfKey } from '../store/plugin-key.ts'
import { createGracePeriod } from '../store/grace-period.ts'
import {
  StoreBehindError,
  StoreFullError,
  StoreMissingError,
  StoreReplacedError,
  StoreUnreachableError,
  storeGivenUp,
} from '../store/store-errors.ts'
import type { StreamReader } from '../store/stream-reader.ts'
import { abortable } from '../../base/time/abortable.ts'
import { type BucketEntry, type LeaseBucket, openLeaseBucket } from './lease-bucket.ts'
import { readLease, readSession } from './record-text.ts'
import type { LeaseRecord, SessionRecord } from './records.ts'

/**
 * Sessions and leases as the store has them. It has a connection of its own, so that no renewal waits behind the
 * journal or a plugin's files; and after it another one, which knows nothing of the one before: what the client
 * could not send is never sent later.
 */
export interface LeaseStore {
  /** Resolves when all that is there was handed out. Rejects with one line; it may be tried again. */
  open(): Promise<void>
  /**
   * Sends a write; what is taken is handed out. It is not sent while there is no connection, and nothing is tried again
   * here: who wants it still asks again.
   */
  writeHost(host: string, record: SessionRecord | null, expected: number): void
  writeLease(plugin: string, record: LeaseRecord, expected: number): void
  close(): Promise<void>
}

export interface LeaseStoreSettings {
  address: StoreAddress
  fleet: string
  clock: Clock
  logger: Logger
  hostSeen(host: string, record: SessionRecord | null, revision: number): void
  leaseSeen(plugin: string, record: LeaseRecord, revision: number): void
  /** Told once: the store is not the one that it was. */
  failed(error: Error): void
}

/** Milliseconds that one try to connect may take, and until the next one. */
const connectTimeout = 2_000
const connectPause = 250
/** Milliseconds without a further record, before all that is there was handed out, after which another connection is made. */
const handOutPatience = 5_000
/** Milliseconds without any answer, while there are questions, after which another connection is made. */
const silenceLimit = 2_500

interface Line {
  connection: NatsConnection
  hosts: LeaseBucket
  leases: LeaseBucket
  readers: StreamReader[]
}

export function leaseBuckets(fleet: string): { hosts: string; leases: string } {
  return { hosts: `LUPINE_${fleet}_HOSTS`, leases: `LUPINE_${fleet}_LEASES` }
}

export function createLeaseStore(settings: LeaseStoreSettings): LeaseStore {
  const { address, fleet, clock, logger, hostSeen, leaseSeen, failed } = settings
  const names = leaseBuckets(fleet)
  const warn = createWarner(logger, clock)
  /** Of the buckets that this process has seen. */
  const known = new Map<string, { created: string; last: number }>()
  let line: Line | undefined
  /** Since when an answer is owed, on the monotonic clock. */
  let askedAt: number | undefined
  const gracePeriod = createGracePeriod(clock)
  let retry: ScheduledCall | undefined
  let connecting: Promise<void> | undefined
  /** All that was there has been handed out once; until then whoever opens it tries again. */
  let isOpen = false
  let isClosed = false
  const closing = new AbortController()

  function note(bucket: string, revision: number): void {
    askedAt = undefined
    const seen = known.get(bucket)
    if (seen !== undefined && seen.last < revision) seen.last = revision
  }

  function takeHost({ key, revision, data }: BucketEntry): void {
    note(names.hosts, revision)
    hostSeen(key, readable(readSession, names.hosts, key, data), revision)
  }

  function takeLease({ key, revision, data }: BucketEntry): void {
    note(names.leases, revision)
    // A lease that somebody took away, or wrote anything else into, is free. Of its epochs none is higher than the
    // revision: each was a write.
    const nobody = { host: null, session: null, epoch: revision }
    leaseSeen(pluginOfKey(key), readable(readLease, names.leases, key, data) ?? nobody, revision)
  }

  /** Null also for what cannot be read. */
  function readable<T>(
    read: (data: Uint8Array) => T | undefined,
    bucket: string,
    key: string,
    data: Uint8Array | null,
  ): T | null {
    const record = data === null ? null : read(data)
    if (record === undefined)
      warn('A record in the store cannot be read, and counts for nothing', { bucket, key })
    return record ?? null
  }

  async function openBucket(connection: NatsConnection, bucket: string): Promise<LeaseBucket> {
    const opened = await openLeaseBucket(connection, bucket, known.get(bucket))
    if (!known.has(bucket)) known.set(bucket, { created: opened.created, last: opened.last })
    return opened
  }

  /** Connects, and resolves when everything that is in the buckets was handed out. */
  async function dial(): Promise<void> {
    const connection = await abortable(
      closing.signal,
      connectStore(address, { reconnects: false, timeout: connectTimeout }),
      storeGivenUp,
      hangUp,
    )
    const end = (): void => hangUp(connection)
    closing.signal.addEventListener('abort', end)
    try {
      const hosts = await openBucket(connection, names.hosts)
      const leases = await openBucket(connection, names.leases)
      if (isClosed) throw new Error('closed')
      const opened: Line = { connection, hosts, leases, readers: [] }
      line = opened
      askedAt = undefined
      gracePeriod.reset()
      await Promise.all([following(opened, hosts, takeHost), following(opened, leases, takeLease)])
      isOpen = true
    } catch (error) {
      if (line?.connection === connection) void leave(line)
      hangUp(connection)
      throw error
    } finally {
      closing.signal.removeEventListener('abort', end)
    }
  }

  /** Resolves when what was there is handed out. */
  function following(of: Line, bucket: LeaseBucket, take: (entry: BucketEntry) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      // What hands it out may be gone although the connection is well, and nothing says so.
      let silence = waitForMore()
      let isAll = false
      function end(settle: () => void): void {
        isAll = true
        silence.cancel()
        settle()
      }
      function waitForMore(): ScheduledCall {
        return clock.schedule(handOutPatience, () =>
          end(() => reject(new StoreUnreachableError("The fleet's store does not hand out what is in it."))),
        )
      }
      if (bucket.last === 0) end(resolve)
      const reader = bucket.reader({
        ...{ clock, logger, gracePeriod },
        take(entry) {
          take(entry)
          if (entry.revision >= bucket.last) end(resolve)
          if (isAll) return
          silence.cancel()
          silence = waitForMore()
        },
        isGivenUp: () => line !== of,
        failed: () => lost(of),
      })
      of.readers.push(reader)
      const over = (error: Error): void => {
        end(() => reject(error))
        lost(of)
      }
      reader.start().catch(over)
      void of.connection
        .closed()
        .then(() => over(new StoreUnreachableError("The connection to the fleet's store was lost.")))
    })
  }

  /** Nothing of it is heard any more. */
  function leave(left: Line): Promise<unknown> {
    if (line === left) line = undefined
    hangUp(left.connection)
    return Promise.allSettled(left.readers.map((reader) => reader.close()))
  }

  function hangUp(connection: NatsConnection): void {
    connection.close().catch(() => undefined)
  }

  function lost(gone: Line): void {
    if (line !== gone) return
    void leave(gone)
    if (isClosed || !isOpen) return
    warn("The connection to the fleet's store is lost")
    reconnect()
  }

  function reconnect(): void {
    if (isClosed || retry !== undefined) return
    retry = clock.schedule(connectPause, () => {
      retry = undefined
      connecting = dial().then(
        () => logger.info("The fleet's store is reached again"),
        (error: unknown) => {
          if (isClosed) return
          // Whatever else it says may be different when it has found its feet again.
          if (isGone(error)) {
            failed(error)
            return
          }
          warn("The fleet's store cannot be reached", { error: messageOf(error) })
          reconnect()
        },
      )
    })
  }

  function isGone(error: unknown): error is Error {
    if (error instanceof StoreReplacedError) return true
    if (error instanceof StoreMissingError && error.isCertain) return true
    if (error instanceof StoreMissingError || error instanceof StoreBehindError) return gracePeriod.isOver()
    gracePeriod.reset()
    return false
  }

  function write(
    bucketOf: (line: Line) => LeaseBucket,
    key: string,
    record: object | null,
    expected: number,
    take: (entry: BucketEntry) => void,
  ): void {
    const over = line
    if (over === undefined) return
    const data = record === null ? null : JSON.stringify(record)
    const now = clock.monotonic()
    askedAt ??= now
    if (now - askedAt > silenceLimit) {
      lost(over)
      return
    }
    bucketOf(over)
      .write(key, data, expected)
      .then(
        (revision) => {
          askedAt = undefined
          if (revision === undefined || isClosed) return
          take({ key, revision, data: data === null ? null : Buffer.from(data) })
        },
        // No answer is none: whether it was taken will be seen.
        (error: unknown) => {
          if (!(error instanceof StoreFullError)) return
          askedAt = undefined
          warn('A lease could not be written; a host whose session nobody hears of ends its plugins', {
            error: error.message,
          })
        },
      )
  }

  return {
    open: () => (connecting = dial()),
    writeHost: (host, record, expected) => write(({ hosts }) => hosts, host, record, expected, takeHost),
    writeLease: (plugin, record, expected) =>
      write(({ leases }) => leases, pluginKey(plugin), record, expected, takeLease),
    async close() {
      isClosed = true
      closing.abort()
      retry?.cancel()
      const last = line
      if (last !== undefined) {
        await leave(last)
        await last.connection.closed()
      }
      await connecting?.catch(() => undefined)
    },
  }
}
