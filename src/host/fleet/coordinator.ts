import type { Clock } from '../../base/time/clock.ts'
import { pause } from '../../base/time/wait.ts'
import type { Logger } from '../../base/log/log.ts'
import type { ExternalBus } from '../../bus/external/external-bus.ts'
import { coordinatorLease } from '../../fleet/leases/records.ts'
import { isTransient } from '../../journal/fold/stale-decision.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import { createLifecyclePublisher, type LifecyclePublisher } from '../../mqtt-api/lifecycle-publisher.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { logFailure } from './log-failure.ts'

/**
 * Tells MQTT of the events of the journal, for all hosts, from where the one before it has come to: what the broker has taken
 * of it. So after a fail-over the last ones may come again, and none is missing that was written down while the broker was away.
 */
export interface Coordinator {
  begin(): Promise<void>
  /** Resolves when a broker that is there has had time for the last events, and how far it has come is written down. */
  end(): Promise<void>
  /** Told of each event of the journal, in order. */
  follow(event: JournalEventView): void
}

/** Under which it keeps how far it has come, among the stored values. */
const cursorKey = 'lifecycle'
/** Milliseconds until that is read again while the store is away: who began with the present would leave events out for good. */
const retryPause = 2_000

export function createCoordinator(parts: {
  lifecycle: Pick<Lifecycle, 'history' | 'lastSeq'>
  bus: Pick<ExternalBus, 'connected' | 'deliver'>
  stores: Pick<KeyValueStores, 'open' | 'set' | 'release'>
  root: string
  clock: Clock
  logger: Logger
}): Coordinator {
  const { lifecycle, bus, stores, root, clock, logger } = parts
  const failed = logFailure(logger, "The fleet's events could not be published")
  /** Undefined: another host does it. */
  let publisher: LifecyclePublisher | undefined
  let term = new AbortController()

  /** Where the one before has come to. Undefined: nobody has begun yet, it cannot be read, or the term is over. */
  async function lastPublished(over: AbortSignal): Promise<number | undefined> {
    for (let isTold = false; !over.aborted; isTold = true) {
      try {
        const known = (await stores.open(coordinatorLease))[cursorKey]?.value
        return typeof known === 'number' ? known : undefined
      } catch (error) {
        if (!isTold) failed(error)
        if (!isTransient(error)) return undefined
        await pause(clock, retryPause, over)
      }
    }
    return undefined
  }

  return {
    async begin() {
      term.abort()
      term = new AbortController()
      const over = term.signal
      const move = (seq: number): void => {
        if (!over.aborted) stores.set(coordinatorLease, cursorKey, { value: seq })
      }
      const { lastSeq } = lifecycle
      const known = await lastPublished(over)
      if (over.aborted) return
      const seq = Math.min(known ?? lastSeq, lastSeq)
      // What happens from now on is to come, even if this host ends before the broker has taken any of it.
      if (known === undefined) move(seq)
      const cursor = {
        start: { seq, event: null },
        move: (to: { seq: number }) => move(to.seq),
        close: () => Promise.resolve(),
      }
      publisher = createLifecyclePublisher({ lifecycle, bus, cursor, root, clock, logger })
      publisher.start()
    },
    async end() {
      const last = publisher
      const ended = term
      publisher = undefined
      // What is still being asked for is of no use; what the broker takes in the end counts.
      if (last === undefined) ended.abort()
      await last?.close()
      // Another term may have begun meanwhile, with the values as they are then.
      if (ended !== term) return
      ended.abort()
      await stores.release(coordinatorLease).catch(failed)
    },
    follow(event) {
      publisher?.follow(event)
    },
  }
}
