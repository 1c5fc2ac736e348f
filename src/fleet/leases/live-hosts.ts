import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../base/time/clock.ts'
import { pause } from '../../base/time/wait.ts'
import { retrying } from '../store/retrying.ts'
import { StoreMissingError } from '../store/store-errors.ts'
import { openStoreStream, type StoreStream } from '../store/store-stream.ts'
import { leaseBuckets } from './lease-store.ts'
import { leaseTiming } from './timing.ts'

/**
 * Hosts that renew their sessions, for whoever takes no part. Where there are records at all, it takes as long as a session
 * without a renewal lasts: a host that died has left its record behind.
 */
export async function liveHosts(connection: NatsConnection, fleet: string, clock: Clock): Promise<string[]> {
  const bucket = leaseBuckets(fleet).hosts
  const prefix = `$KV.${bucket}.`
  let stream: StoreStream
  try {
    stream = await openStoreStream(connection, {
      ...{ name: `KV_${bucket}`, config: undefined, check: () => undefined },
    })
  } catch (error) {
    if (error instanceof StoreMissingError) return []
    throw error
  }
  /** The last revision of each host's key. */
  async function revisions(): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    for (const subject of await stream.subjects(`${prefix}>`)) {
      const last = await stream.get({ last_by_subj: subject })
      if (last !== undefined && last.data.length > 0) found.set(subject.slice(prefix.length), last.seq)
    }
    return found
  }
  const before = await retrying(clock, revisions)
  if (before.size === 0) return []
  await pause(clock, leaseTiming.takeOverAfter)
  const after = await retrying(clock, revisions)
  return [...after].filter(([host, revision]) => revision !== before.get(host)).map(([host]) => host)
}
