import { isDeepStrictEqual } from 'node:util'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'
import { silentLogger } from '../../base/log/log.ts'
import { eventsOf } from '../../fleet/journal/events-of.ts'
import { type JournalStream, openJournalStream } from '../../fleet/journal/journal-stream.ts'
import { decodeMessage } from '../../fleet/journal/stream-message.ts'
import { liveHosts } from '../../fleet/leases/live-hosts.ts'
import { StoreRefusedError } from '../../fleet/store/store-errors.ts'
import { installedIn } from '../../journal/fold/evolve.ts'
import { type Journal, openJournal } from '../../journal/journal.ts'
import type { Vault } from '../../journal/vault.ts'
import { createSecretVault } from '../../lifecycle/secrets/secret-vault.ts'
import { createPluginDirectory, integrityOf } from '../../repository/directories/plugin-directory.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { type MembershipSettings, openFleetStores, withLockedDirectory } from './membership-command.ts'
import { createEventPublisher } from './publish-events.ts'

/** What was put back. */
export interface RestoredEnd {
  /** Numbers of the last event before and after; the same, where the store has all of the copy. */
  before: number
  last: number
  /** Plugins whose files are not in the directory as they were installed. */
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
      if (seq <= stream.last) return { before: stream.last, last: stream.last, withoutFiles: [] }
      const live = await liveHosts(connection, fleet, clock)
      if (live.length > 0) {
        throw new Error(
          `Hosts are at work in the fleet ${fleet} (${live.join(', ')}), which would write on top of what it has now; stop them first.`,
        )
      }
      const publisher = createEventPublisher(stream, vault, settings)
      for (const event of eventsOf(copy, { after: stream.last })) publisher.requireRoom(event)
      // Before the facts that name them: they may have been lost, too.
      const withoutFiles: string[] = []
      const plugins = createPluginDirectory({ directory, files, logger: silentLogger })
      for (const { context } of installedIn(copy.state)) {
        const found = await plugins.contents(identifierOf(context.id)).catch(rethrowSystemFault)
        if (found !== undefined && isDeepStrictEqual(integrityOf(found), context.integrity))
          await stores.files.put(found.values())
        else withoutFiles.push(context.id)
      }
      await publisher.publish(eventsOf(copy, { after: stream.last }))
      return { before: stream.last, last: seq, withoutFiles }
    } finally {
      await copy.close()
    }
  })
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
