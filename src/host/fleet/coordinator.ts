import type { Logger } from '../../base/log/log.ts'
import { jsonText } from '../../base/text/json.ts'
import type { Bus } from '../../bus/bus.ts'
import { coordinatorLease } from '../../fleet/leases/records.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { createTopics } from '../../schema/names/topics.ts'
import { logFailure } from './log-failure.ts'

/**
 * Tells MQTT of the events of the journal, for all hosts, from where the one before it has come to. So after a fail-over the last
 * ones may come again.
 */
export interface Coordinator {
  begin(): Promise<void>
  end(): void
  /** Told of each event of the journal, in order. */
  follow(event: JournalEventView): void
}

/** Under which it keeps how far it has come, among the stored values. */
const cursorKey = 'lifecycle'
/** Events that are read at once. */
const pageSize = 500

export function createCoordinator(parts: {
  lifecycle: Pick<Lifecycle, 'history' | 'lastSeq'>
  bus: Pick<Bus, 'publish'>
  stores: Pick<KeyValueStores, 'open' | 'set' | 'release'>
  root: string
  logger: Logger
}): Coordinator {
  const { lifecycle, bus, stores, logger } = parts
  const topics = createTopics(parts.root)
  const failed = logFailure(logger, "The fleet's events could not be published")
  /** Number of the last event that was published; undefined: another host does it. */
  let published: number | undefined
  let term = 0

  function publish(event: JournalEventView): void {
    bus.publish(topics.lifecycle, jsonText(event), { qos: 1 }).catch(failed)
    published = event.seq
    stores.set(coordinatorLease, cursorKey, { value: event.seq })
  }

  function catchUp(): void {
    while (published !== undefined && published < lifecycle.lastSeq) {
      const events = lifecycle.history({ after: published, limit: pageSize })
      if (events.length === 0) return
      for (const event of events) publish(event)
    }
  }

  return {
    async begin() {
      term += 1
      const mine = term
      try {
        const entries = await stores.open(coordinatorLease)
        if (mine !== term) return
        const known = entries[cursorKey]?.value
        published = typeof known === 'number' ? Math.min(known, lifecycle.lastSeq) : lifecycle.lastSeq
        catchUp()
      } catch (error) {
        if (mine === term) published = lifecycle.lastSeq
        failed(error)
      }
    },
    end() {
      term += 1
      published = undefined
      stores.release(coordinatorLease).catch(failed)
    },
    follow(event) {
      if (published !== undefined && event.seq > published) catchUp()
    },
  }
}
