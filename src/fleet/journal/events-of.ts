import type { Journal } from '../../journal/journal.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'

/** Events that are read at once. */
const pageLength = 1_000

/** Events after `after`, oldest first; of one plugin, or all. They are in memory a page at a time. */
export function* eventsOf(
  journal: Pick<Journal, 'read'>,
  { plugin, after = 0 }: { plugin?: string; after?: number },
): Generator<JournalEvent> {
  for (let last: number | undefined = after; last !== undefined;) {
    const page = journal.read({ plugin, after: last, limit: pageLength })
    yield* page
    last = page.at(-1)?.seq
  }
}
