import type { NatsConnection } from '@nats-io/transport-node'
import { messageOf } from '../../base/problem.ts'
import { DamagedJournalError } from '../../journal/segments/damaged-journal.ts'
import { type Journal, type JournalSettings, openJournal } from '../../journal/journal.ts'
import { quarantineJournal } from '../../journal/repair/repair.ts'
import { noVault, type Vault } from '../../journal/vault.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import { StoreMissingError, StoreRefusedError } from '../store/store-errors.ts'
import type { StoredMessage } from '../store/store-stream.ts'
import { eventsOf } from './events-of.ts'
import { type JournalStream, openJournalStream } from './journal-stream.ts'
import { requireWholeJournal } from './partial-journal.ts'
import { createStreamQueue, type StreamQueue, type StreamQueueSettings } from './stream-queue.ts'
import { decodeMessage } from './stream-message.ts'

/** The journal of a fleet: as that of one host, in a stream that all hosts share. `directory` has this host's copy. */
export interface FleetJournal extends Journal {
  /** Facts of one plugin that follow from its state, whoever else writes about it at the same time. */
  decide: StreamQueue['decide']
  finishBegun: NonNullable<Journal['finishBegun']>
  /** Resolves when `state` has all that the stream had when this was called. Rejects with `StoreUnreachableError`, or what keeps the copy from it. */
  catchUp: StreamQueue['catchUp']
  /** While this host's disk refuses its copy: what others have written down since, in the state that follows from it. */
  readonly ahead: StreamQueue['ahead']
  /** Copies that the store keeps of each event. */
  readonly replicas: number
}

export interface FleetJournalSettings extends Omit<JournalSettings, 'createQueue' | 'acknowledged'> {
  connection: NatsConnection
  fleet: string
  /** A fleet that is not there is refused, and not founded. */
  mustExist?: boolean
  /** An event of which another file here says that it is in this host's copy. */
  written?: { seq?: number; event?: string } | undefined
  /** As in `StreamQueueSettings`. */
  author?: StreamQueueSettings['author']
  /** Whoever opens it, or waits for an append, does not any more. */
  givenUp?: AbortSignal | undefined
  /** Told once, when the journal cannot be followed any further: nothing is taken from then on. */
  failed?: (error: Error) => void
}

/**
 * Throws `StoreRefusedError` or `StoreUnreachableError`; nothing is changed on disk then. A damaged copy is put aside and fetched
 * again, where it is known to be one of this stream.
 */
export async function openFleetJournal(settings: FleetJournalSettings): Promise<FleetJournal> {
  const { connection, fleet, directory, logger } = settings
  const vault = settings.vault ?? noVault
  const stream = await openJournalStream(connection, fleet, { mustExist: settings.mustExist ?? false })
  let queue: StreamQueue | undefined
  const open = (): Promise<Journal> =>
    openJournal({
      ...settings,
      isCopy: settings.isCopy ?? true,
      createQueue(parts) {
        queue = createStreamQueue(
          { ...settings, stream, vault, recall, requireOwnEnd, failed: settings.failed ?? told },
          parts,
        )
        return queue
      },
    })
  const journal = await open().catch(async (error: unknown) => {
    if (!(error instanceof DamagedJournalError)) throw error
    const { seq = 0, event } = settings.written ?? {}
    const seen = Math.max(seq, error.last ?? 0)
    if (stream.last > 0 && stream.last < seen) {
      throw new StoreRefusedError(
        `${error.path} is damaged at line ${error.line}, and the stream ${stream.name} (up to event ${stream.last}) lacks ` +
          `events that it has (up to event ${seen}): put a newer backup of the servers in place, or move ${directory} away, but keep it, ` +
          'and start this host again, without those events.',
        { cause: error },
      )
    }
    if (!(await hasEvent(stream, seq, event, vault))) {
      throw new StoreRefusedError(
        `${error.path} is damaged at line ${error.line}, and nothing says that it is a copy of the journal of the fleet ${fleet}. If it ` +
          `is, move ${directory} away, but keep it, and start this host again, with its name as HOST_ID: the copy is fetched again. ` +
          'A host that has run alone so far is mended by "lupine repair", and taken in by "lupine fleet join".',
        { cause: error },
      )
    }
    const copies = await quarantineJournal(directory, settings.clock.now(), settings)
    const { path, line } = error
    const what = "This host's copy of the fleet's journal was damaged: it was put aside, and is fetched again"
    logger.warn(what, { path, line, copies })
    return open()
  })
  if (queue === undefined) throw new Error('The journal was opened without its queue')
  const { decide, catchUp, start, close } = queue

  function told(error: Error): void {
    logger.error("The fleet's journal cannot be followed any further", { error: messageOf(error) })
  }

  function recall(requestKey: string): JournalEvent[] | undefined {
    const plugin = journal.recallRequest(requestKey)
    if (plugin === undefined) return undefined
    const found: JournalEvent[] = []
    for (const event of eventsOf(journal, { plugin })) if (event.requestKey === requestKey) found.push(event)
    return found
  }

  /** While others run that have not seen as much, an older backup would go on under this host. */
  async function requireOwnEnd(): Promise<void> {
    const { seq } = journal.state
    // Of a stream that is not there, following it says so.
    if (seq === 0 || (await stream.end()) === undefined) return
    const message = await stream.get({ seq })
    const lacks = `The stream ${stream.name} does not have event ${seq} as this host has seen it: ${lostEndAdvice(directory)}`
    // One server that was cut off may not have it yet.
    if (message === undefined) throw new StoreMissingError(lacks, false)
    if (!isEvent(message, journal.eventId(seq), vault)) throw new StoreRefusedError(lacks)
  }

  async function closeAll(): Promise<void> {
    await close()
    await journal.close()
  }

  try {
    await refuseOther(stream, journal, settings)
    await refusePart(stream, settings, vault)
    await start()
  } catch (error) {
    await closeAll()
    throw error
  }
  return {
    get state() {
      return journal.state
    },
    live: journal.live,
    get ahead() {
      return queue?.ahead
    },
    get first() {
      return journal.first
    },
    replicas: stream.replicas,
    append: journal.append,
    decide,
    async finishBegun(plugin) {
      await decide(plugin, () => [], 'supervisor')
    },
    catchUp,
    read: journal.read,
    last: journal.last,
    stateAt: journal.stateAt,
    eventId: journal.eventId,
    recallRequest: journal.recallRequest,
    ...(journal.refused === undefined ? {} : { refused: journal.refused }),
    subscribe: journal.subscribe,
    async close() {
      await queue?.idle()
      await closeAll()
    },
  }
}

async function refusePart(
  { name, last, get }: JournalStream,
  { fleet }: FleetJournalSettings,
  vault: Vault,
): Promise<void> {
  const message = last === 0 ? undefined : await get({ seq: last })
  if (message === undefined) return
  requireWholeJournal(fleet, name, last, firstJournalEnd(message.data))

  function firstJournalEnd(data: Uint8Array): number {
    try {
      return decodeMessage(data, last, vault).firstJournalEnd
    } catch {
      // Whoever takes it into the copy says what is wrong with it.
      return 0
    }
  }
}

/** The stream has to be the one that the copy is of, with all that comes after it. */
async function refuseOther(
  stream: JournalStream,
  journal: Journal,
  { directory, fleet, vault = noVault }: FleetJournalSettings,
): Promise<void> {
  const { state, first } = journal
  const { seq } = state
  const advice =
    `Put the stream back from a backup; or, if the fleet really begins anew, move ${directory} away, but keep it: it has ` +
    'plugins and settings as they were, and docs/operation.md tells how they come back ("A store that is lost"). A host ' +
    'that has run alone so far is taken in by "lupine fleet join".'
  const isGone = stream.last === 0 || stream.first > 1
  if (!isGone && (await hasEvent(stream, seq, journal.eventId(seq), vault))) return
  if (!isGone && (await hasEvent(stream, first, journal.eventId(first), vault))) {
    throw new StoreRefusedError(
      `The stream ${stream.name} (up to event ${stream.last}) lacks events that this host has seen (up to event ${seq}): ` +
        lostEndAdvice(directory),
    )
  }
  if (stream.last < seq) {
    throw new StoreRefusedError(
      `The stream ${stream.name} ends with event ${stream.last}, and this host has seen event ${seq}: somebody has ` +
        `emptied it, or replaced it. ${advice}`,
    )
  }
  if (stream.first > 1 && stream.last > 0) {
    throw new StoreRefusedError(
      `The stream ${stream.name} begins with event ${stream.first}: somebody has emptied it. This host has a copy up to ` +
        `event ${seq}. ${advice}`,
    )
  }
  if (seq === 0) return
  throw new StoreRefusedError(
    `The stream ${stream.name} has another event ${seq} than this host's copy: it is not the fleet ${fleet} that this ` +
      `host belonged to. Correct the address or the name of the fleet. ${advice}`,
  )
}

const lostEndAdvice = (directory: string): string =>
  'its servers have lost the last ones, as in a power cut, or were put back from an older backup. Put a newer one in place; or stop all ' +
  'hosts, bring them back by "lupine fleet restore", run with the data directory of each host, and start the hosts again; or, to go on ' +
  `without them, move ${directory} away, but keep it, and start this host again. The same goes for each host that says so.`

/** Whether the stream has the event with this id under this number. */
async function hasEvent(
  stream: JournalStream,
  seq: number,
  id: string | undefined,
  vault: Vault,
): Promise<boolean> {
  if (seq === 0 || id === undefined || seq > stream.last) return false
  const message = await stream.get({ seq })
  return message !== undefined && isEvent(message, id, vault)
}

function isEvent({ data, seq }: StoredMessage, id: string | undefined, vault: Vault): boolean {
  try {
    return decodeMessage(data, seq, vault).event.id === id
  } catch {
    return false
  }
}
