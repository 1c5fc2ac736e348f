import {
  JetStreamApiError,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { systemClock } from '../../base/time/clock.ts'
import { pause } from '../../base/time/wait.ts'
import { StoreUnreachableError } from './store-errors.ts'

/** How many copies the servers of the store keep of a stream: three where there are three of them. */

const copiesWanted = 3
/** Answers of a server that cannot keep so many copies. */
const tooFewServers: ReadonlySet<number> = new Set([10_005, 10_052, 10_074])
/** The same for a stream that is there, and is not as the one that was to be made. */
const nameInUse = 10_058
/**
 * Milliseconds that the servers of a cluster get to find each other before a stream has one copy, and to bring copies up to
 * date, and between two looks. Of what has one copy the death of a server takes what was acknowledged.
 */
const patience = 5_000
const pauseTime = 100
/**
 * Looks in a row that have to find the copies up to date: a leader that has just been chosen says so for a moment of copies
 * that have nothing yet (seen for 30 ms).
 */
const looksInRow = 10

/** What is asked of the servers: over which connection, and of which stream. */
export interface StreamManager {
  connection: NatsConnection
  manager: JetStreamManager
  name: string
}

export function isClustered(connection: NatsConnection): boolean {
  return connection.info?.cluster !== undefined
}

/** From the leader of the stream: while there is none, any server answers, also one that has missed the last writes. */
export async function streamInfo({ manager, name }: StreamManager): Promise<StreamInfo | undefined> {
  try {
    const found = await manager.streams.info(name)
    const hasLeader = found.cluster === undefined || (found.cluster.leader ?? '') !== ''
    if (!hasLeader) throw new StoreUnreachableError(`The stream ${name} has no leader just now.`)
    return found
  } catch (error) {
    if (error instanceof Error && error.name === 'StreamNotFoundError') return undefined
    throw error
  }
}

/**
 * Makes a stream. Servers that were started together have not found each other at first. One that another host has made
 * meanwhile is taken, whatever it is like.
 */
export async function createStream(of: StreamManager, config: Partial<StreamConfig>): Promise<StreamInfo> {
  const { connection, manager, name } = of
  let copies = copiesWanted
  for (const end = endOfPatience(connection); ;) {
    try {
      return await manager.streams.add({ name, num_replicas: copies, ...config })
    } catch (error) {
      const code = error instanceof JetStreamApiError ? error.code : undefined
      // Another host had waited long enough for more servers: its stream has one copy.
      const existing = code === nameInUse ? await streamInfo(of) : undefined
      if (existing !== undefined) return withCopies(of, existing)
      const mayChange = code !== undefined && (code === nameInUse || tooFewServers.has(code))
      if (!mayChange || copies === 1) throw error
      if (systemClock.monotonic() >= end) copies = 1
      else await pause(systemClock, pauseTime)
    }
  }
}

/** One copy is what a stream got while the servers had not found each other yet, or while there was one. */
export async function withCopies(of: StreamManager, existing: StreamInfo): Promise<StreamInfo> {
  // A server by itself takes the number, and keeps one copy.
  if (!isClustered(of.connection) || existing.config.num_replicas > 1) return existing
  try {
    await of.manager.streams.update(of.name, { num_replicas: copiesWanted })
  } catch (error) {
    if (error instanceof JetStreamApiError) return existing
    throw error
  }
  return whenCopied(of, existing)
}

/** The stream when its copies have all that it has; or as it was, when that takes long. */
async function whenCopied(of: StreamManager, before: StreamInfo): Promise<StreamInfo> {
  let latest = before
  let inRow = 0
  for (const end = endOfPatience(of.connection); inRow < looksInRow && systemClock.monotonic() < end;) {
    await pause(systemClock, pauseTime)
    // While there are more servers to ask, none of them is the leader for a moment.
    const found = await streamInfo(of).catch(() => undefined)
    latest = found ?? latest
    const replicas = found?.cluster?.replicas ?? []
    const areCurrent = replicas.length >= copiesWanted - 1 && replicas.every(({ current }) => current)
    inRow = areCurrent ? inRow + 1 : 0
  }
  return latest
}

/** A server by itself has nobody to wait for. */
function endOfPatience(connection: NatsConnection): number {
  return isClustered(connection) ? systemClock.monotonic() + patience : -Infinity
}
