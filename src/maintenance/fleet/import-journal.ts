import { isDeepStrictEqual } from 'node:util'
import { eventsOf } from '../../fleet/journal/events-of.ts'
import type { JournalStream } from '../../fleet/journal/journal-stream.ts'
import { StoreRefusedError } from '../../fleet/store/store-errors.ts'
import { stampFacts } from '../../journal/fold/stamp.ts'
import type { JournalEvent, PluginFact } from '../../schema/journal/journal-event.ts'
import type { MembershipSettings } from './membership-command.ts'
import { createEventPublisher } from './publish-events.ts'
import type { SingleHost } from './read-host.ts'

/**
 * Writes the journal of the first host into the stream of the fleet, each event under its own number, on top of what is
 * there of it already. Files that were changed by hand are what the fleet has of them, so a fact says that in the end.
 */
export async function importJournal(
  stream: JournalStream,
  host: SingleHost,
  settings: MembershipSettings,
): Promise<void> {
  const { journal } = host
  if (journal.first > 1) {
    throw new StoreRefusedError(
      `The journal in ${settings.directory} begins with event ${journal.first}: older files of it were moved away. The ` +
        'first host of a fleet brings all of it, under its numbers: put them back for this.',
    )
  }
  const added = stampedAfter(host, settings)
  const end = journal.state.seq + added.length
  const publisher = createEventPublisher(stream, host.vault, settings, end)
  // Before anything is written.
  for (const event of eventsOf(journal, {})) publisher.requireRoom(event)
  await publisher.publish(eventsOf(journal, { after: stream.last }))
  await publisher.publish(added.filter(({ seq }) => seq > stream.last))
}

/** Which files there are, of plugins where those are not as they were installed. */
export function filesChangedByHand({ plugins }: SingleHost): PluginFact[] {
  return plugins.flatMap(({ id, snapshot, present }): PluginFact[] => {
    const { integrity, indexVersion, repository } = snapshot.context
    if (present === undefined || isDeepStrictEqual(present.integrity, integrity)) return []
    return [
      {
        type: 'PluginFilesRestored',
        plugin: id,
        data: { ...present, indexVersion, repository, source: 'folder' },
      },
    ]
  })
}

function stampedAfter(host: SingleHost, { clock }: MembershipSettings): JournalEvent[] {
  const stamp = { by: 'file', now: clock.now(), requestKey: undefined } as const
  const stamped = stampFacts(host.journal.state, filesChangedByHand(host), stamp)
  if (typeof stamped === 'string') throw new Error(stamped)
  return stamped.steps.map(({ event }) => event)
}
