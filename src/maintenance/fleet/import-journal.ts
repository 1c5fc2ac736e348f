import { isDeepStrictEqual } from 'node:util'
import { eventsOf } from '../../fleet/journal/events-of.ts'
import type { JournalStream } from '../../fleet/journal/journal-stream.ts'
import { encodeMessage } from '../../fleet/journal/stream-message.ts'
import { journalSubject } from '../../fleet/journal/subjects.ts'
import { retrying } from '../../fleet/store/retrying.ts'
import { StoreRefusedError, unreachable } from '../../fleet/store/store-errors.ts'
import { stampFacts } from '../../journal/fold/stamp.ts'
import type { JournalEvent, PluginFact } from '../../schema/journal/journal-event.ts'
import type { MembershipSettings } from './membership-command.ts'
import type { SingleHost } from './read-host.ts'

/** Events that are on their way to the store at once. */
const atOnce = 100

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
  // Before anything is written.
  for (const event of eventsOf(journal, {})) messageOf(event)
  let group: JournalEvent[] = []
  for (const event of eventsOf(journal, { after: stream.last })) {
    group.push(event)
    if (group.length >= atOnce) {
      await publish(group)
      group = []
    }
  }
  await publish(group)
  await publish(added.filter(({ seq }) => seq > stream.last))

  function messageOf(event: JournalEvent): string {
    const text = encodeMessage(event, [], host.vault, end)
    const size = Buffer.byteLength(text)
    if (size <= stream.room()) return text
    throw new StoreRefusedError(
      `Event ${event.seq} takes ${size} bytes, and the fleet's store takes ${stream.room()} at once; raise max_payload of ` +
        'nats-server for this.',
    )
  }

  /** In order, over one connection: each goes on top of the one before. Those that are there already are answered so. */
  async function publish(events: readonly JournalEvent[]): Promise<void> {
    const texts = events.map(messageOf)
    await retrying(settings.clock, () =>
      Promise.all(
        events.map(async ({ seq, id, plugin }, index) => {
          const subject = journalSubject(settings.fleet, plugin)
          const written = await stream.publish(subject, texts[index] ?? '', { id, expectedOfStream: seq - 1 })
          if ('seq' in written && written.seq === seq) return
          // One before it did not come through.
          if ('refusedAfter' in written && written.refusedAfter < seq - 1)
            throw unreachable('an event is missing')
          throw new StoreRefusedError(
            `Somebody else is writing to the stream ${stream.name}; run this again when it is over.`,
          )
        }),
      ),
    )
  }
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
