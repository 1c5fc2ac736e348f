import { encodeMessage } from '../../fleet/journal/stream-message.ts'
import type { JournalStream } from '../../fleet/journal/journal-stream.ts'
import { journalSubject } from '../../fleet/journal/subjects.ts'
import { retrying } from '../../fleet/store/retrying.ts'
import { StoreRefusedError, unreachable } from '../../fleet/store/store-errors.ts'
import type { Vault } from '../../journal/vault.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import type { MembershipSettings } from './membership-command.ts'

/** Events that are on their way to the store at once. */
const atOnce = 100

export interface EventPublisher {
  /** Throws one sentence at an event that the store would not take. */
  requireRoom(event: JournalEvent): void
  /** Writes them into the stream, each under its own number, or not at all. Those that are there already are left as they are. */
  publish(events: Iterable<JournalEvent>): Promise<void>
}

/** `firstJournalEnd`: as in `StreamMessage`. */
export function createEventPublisher(
  stream: JournalStream,
  vault: Vault,
  { fleet, clock }: Pick<MembershipSettings, 'fleet' | 'clock'>,
  firstJournalEnd?: number,
): EventPublisher {
  function messageOf(event: JournalEvent): string {
    const text = encodeMessage(event, [], vault, firstJournalEnd)
    const size = Buffer.byteLength(text)
    if (size <= stream.room()) return text
    throw new StoreRefusedError(
      `Event ${event.seq} takes ${size} bytes, and the fleet's store takes ${stream.room()} at once; raise max_payload of ` +
        'nats-server for this.',
    )
  }

  /** In order, over one connection: each goes on top of the one before. Those that are there already are answered so. */
  async function publishGroup(events: readonly JournalEvent[]): Promise<void> {
    const texts = events.map(messageOf)
    await retrying(clock, () =>
      Promise.all(
        events.map(async ({ seq, id, plugin }, index) => {
          const subject = journalSubject(fleet, plugin)
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

  return {
    requireRoom: messageOf,
    async publish(events) {
      let group: JournalEvent[] = []
      for (const event of events) {
        group.push(event)
        if (group.length < atOnce) continue
        await publishGroup(group)
        group = []
      }
      await publishGroup(group)
    },
  }
}
