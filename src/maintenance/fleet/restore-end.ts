import { isDeepStrictEqual } from 'node:util'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'
import { silentLogger } from '../../base/log/log.ts'
import type { FleetFiles } from '../../fleet/files/fleet-files.ts'
import { eventsOf } from '../../fleet/journal/events-of.ts'
import { type JournalStream, openJournalStream } from '../../fleet/journal/journal-stream.ts'
import { decodeMessage } from '../../fleet/journal/stream-message.ts'
import { liveHosts } from '../../fleet/leases/live-hosts.ts'
import { StoreRefusedError } from '../../fleet/store/store-errors.ts'
import { installedIn } from '../../journal/fold/evolve.ts'
import { type Journal, openJournal } from '../../journal/journal.ts'
import { readSnapshot } from '../../journal/snapshot/snapshot.ts'
import type { Vault } from '../../journal/vault.ts'
import { createSecretVault } from '../../lifecycle/secrets/secret-vault.ts'
import { createPluginDirectory, integrityOf } from '../../repository/directories/plugin-directory.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { readKept } from './kept-files.ts'
import { type MembershipSettings, openFleetStores, withLockedDirectory } from './membership-command.ts'
import { createEventPublisher } from './publish-events.ts'

/** What was put back. */
export interface RestoredEnd {
  /** Numbers of the last event before and after; the same, where the store has all of the copy. */
  before: number
  last: number
  /** Number of the last event that the host has seen, by its `.host.json`: the copy may have lost its own end. 0: nobody says. */
  seen: number
  /** Plugins whose files are neither in the directory nor in the store as they were installed. */
  withoutFiles: string[]
}

/**
 * Puts back into the journal of a fleet what its store has lost of its end and the copy in the data directory of one of its hosts
 * has. All hosts are stopped. What is interrupted is done again, with the copies of other hosts after it, where those go further. Throws
 * one sentence; the directory is not changed.
 */
export async function restoreEnd(settings: MembershipSettings): Promise<RestoredEnd> {
  const { connection, directory, fleet, files, clock, ring } = settings
  return withLockedDirectory(directory, async () => {
    const vault = createSecretVault(ring, () => undefined)
    const stream = await openJournalStream(connection, fleet, { mustExist: true })
    const stores = await openFleetStores(settings)
    await stores.values.requireSharedKey()
    // Each line has its checksum, and all of them are read.
    const copy = await openJournal({ directory, files, clock, logger: silentLogger, vault, whole: true })
    try {
      const { seq } = copy.live
      await requireSameBeginning(stream, copy, vault, settings)
      const seen = await lastSeen(settings, vault)
      if (seq <= stream.last) {
        // The copy that has brought the events may have been without their files.
        const withoutFiles = await putFiles(settings, copy, stores.files)
        return { before: stream.last, last: stream.last, seen, withoutFiles }
      }
      const live = await liveHosts(connection, fleet, clock)
      if (live.length > 0) {
        throw new Error(
          `Hosts are at work in the fleet ${fleet} (${live.join(', ')}), which would write on top of what it has now; stop them first.`,
        )
      }
      requireOfFleet(copy, stream.last, settings)
      const publisher = createEventPublisher(stream, vault, settings)
      for (const event of eventsOf(copy, { after: stream.last })) publisher.requireRoom(event)
      // Before the facts that name them: they may have been lost, too.
      const withoutFiles = await putFiles(settings, copy, stores.files)
      await publisher.publish(eventsOf(copy, { after: stream.last }))
      return { before: stream.last, last: seq, seen, withoutFiles }
    } finally {
      await copy.close()
    }
  })
}

async function lastSeen({ files, directory }: MembershipSettings, vault: Vault): Promise<number> {
  // What is damaged says nothing; the journal is what counts.
  const file = await readSnapshot(files, directory, vault).catch(rethrowSystemFault)
  return file?.journal?.seq ?? 0
}

/**
 * Puts the files of the plugins that are installed by the copy, and of the versions before, for the way back to those. Answers the
 * plugins of which neither side has the present ones.
 */
async function putFiles(settings: MembershipSettings, copy: Journal, store: FleetFiles): Promise<string[]> {
  const { directory, files } = settings
  const without: string[] = []
  const plugins = createPluginDirectory({ directory, files, logger: silentLogger })
  for (const { context } of installedIn(copy.state)) {
    const { id, integrity, kept } = context
    await store.put(await readKept(settings, id, kept))
    const found = await plugins.contents(identifierOf(id)).catch(rethrowSystemFault)
    if (found !== undefined && isDeepStrictEqual(integrityOf(found), integrity))
      await store.put(found.values())
    else if (!(await isInStore(store, id, integrity))) without.push(id)
  }
  return without
}

async function isInStore(store: FleetFiles, id: string, integrity: Integrity): Promise<boolean> {
  try {
    await store.fetch(id, integrity)
    return true
  } catch (error) {
    if (error instanceof StoreRefusedError) return false
    throw error
  }
}

/**
 * A host that was started in the directory without its fleet has gone on by itself behind the copy. Only such a host writes down that it
 * was started; one that a fleet has begun with is named by the fleet's hosts after that.
 */
function requireOfFleet(copy: Journal, after: number, { directory, fleet }: MembershipSettings): void {
  let started: number | undefined
  for (const { type, seq } of eventsOf(copy, { after })) {
    if (type === 'HostStarted') started ??= seq
    if (type === 'HostJoined') started = undefined
  }
  if (started === undefined) return
  throw new Error(
    `A host was started in ${directory} without the fleet ${fleet} (event ${started}), and has gone on by itself there. Nothing was ` +
      'changed; name the data directory of another host of the fleet.',
  )
}

/** The copy and the stream have to be of one journal as far as the shorter of them goes. */
async function requireSameBeginning(
  stream: JournalStream,
  copy: Journal,
  vault: Vault,
  { directory, fleet }: MembershipSettings,
): Promise<void> {
  const common = Math.min(stream.last, copy.live.seq)
  if (common === 0) {
    throw new StoreRefusedError(
      copy.live.seq === 0
        ? `There is no copy of a fleet's journal in ${directory}; name the data directory of one of its hosts (--data-dir).`
        : `The stream ${stream.name} is empty: where the store of a fleet is lost, docs/operation.md tells how it comes back.`,
    )
  }
  const found = await stream.get({ seq: common })
  if (found !== undefined && decodeMessage(found.data, common, vault).event.id === copy.eventId(common))
    return
  throw new StoreRefusedError(
    `The stream ${stream.name} has another event ${common} than the copy in ${directory}: it has gone on without what it had lost, or ` +
      `it is not that of the fleet ${fleet}. Nothing was changed; the copy's journal and .host.json tell what was there.`,
  )
}
