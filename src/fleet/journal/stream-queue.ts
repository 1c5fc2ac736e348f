import { pause } from '../../base/time/wait.ts'
import { createKeyedMutex } from '../../base/mutex.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import type { AppendQueue, AppendQueueParts } from '../../journal/append-queue.ts'
import type { HostState } from '../../journal/fold/evolve.ts'
import { StaleDecisionError } from '../../journal/fold/stale-decision.ts'
import { type Author, stampFacts } from '../../journal/fold/stamp.ts'
import type { Fact, JournalEvent, Origin } from '../../schema/journal/journal-event.ts'
import { createGracePeriod } from '../store/grace-period.ts'
import { StoreFullError, StoreRefusedError, StoreUnreachableError } from '../store/store-errors.ts'
import { type CopySettings, createCopy } from './copy.ts'
import { requireWholeJournal } from './partial-journal.ts'
import { encodeMessage } from './stream-message.ts'
import { journalSubject } from './subjects.ts'

/**
 * Appends to the journal of a fleet: an event is taken by the stream, on top of the last one of its plugin, or not at all.
 * Then it comes back like those of other hosts, is folded here, and whoever waits is answered.
 */

/** What is to be written down, going by the state; asked again from a newer state when somebody else was first. */
export type Decision = (state: HostState) => readonly Fact[]

export interface StreamQueue extends AppendQueue {
  /**
   * As `append`, for facts of one plugin (null: of the fleet) that follow from its state. What a request has written down once
   * is not written down again: both answer the events of that time.
   */
  decide(plugin: string | null, decision: Decision, by: Origin, requestKey?: string): Promise<JournalEvent[]>
  /** As in `FleetJournal`. */
  catchUp(): Promise<void>
  /** As in `Copy`. */
  readonly ahead: HostState | undefined
  /** Follows the stream. Resolves when all that was there is in the fold. */
  start(): Promise<void>
  close(): Promise<void>
}

export interface StreamQueueSettings extends Omit<CopySettings, 'parts'> {
  fleet: string
  /** Events that a remembered request has led to. */
  recall(requestKey: string): JournalEvent[] | undefined
  /**
   * In whose name facts of a plugin are written down, going by the state on top of which they will be. Throws when this host
   * may not write about it (any more).
   */
  author?: ((plugin: string, state: HostState, facts: readonly Fact[]) => Author | undefined) | undefined
}

/** The same failure of something that was begun before: that there is no room does not mean that nothing was done. */
function begunOf(error: unknown): unknown {
  return error instanceof StoreFullError
    ? new StoreUnreachableError(messageOf(error), { cause: error })
    : error
}

function throwBegun(error: unknown): never {
  throw begunOf(error)
}

/** Milliseconds until an append whose fate is not known is given up, and between two tries. */
const patience = 5_000
const pauseTime = 100

export function createStreamQueue(settings: StreamQueueSettings, parts: AppendQueueParts): StreamQueue {
  const { fleet, stream, clock, vault, recall } = settings
  const copy = createCopy({ ...settings, parts })
  const mutex = createKeyedMutex()
  const gracePeriod = createGracePeriod(clock)

  /** One after another for each subject; those of several wait for all of them, always in the same order. */
  function holding<T>(subjects: readonly string[], task: () => Promise<T>): Promise<T> {
    const [first, ...others] = [...subjects].sort()
    return first === undefined ? task() : mutex.run(first, () => holding(others, task))
  }

  function stamp(facts: readonly Fact[], by: Origin, requestKey: string | undefined): JournalEvent[] {
    // It may have begun after this host.
    requireWholeJournal(fleet, stream.name, parts.state().seq, copy.firstJournalEnd)
    let stamped: ReturnType<typeof stampFacts>
    const plugin = facts[0]?.plugin ?? null
    const author = plugin === null ? undefined : settings.author?.(plugin, parts.state(), facts)
    try {
      stamped = stampFacts(parts.state(), facts, { by, now: parts.now(), requestKey, author })
    } catch (error) {
      stamped = `The change cannot be written down: ${messageOf(error)}.`
    }
    if (typeof stamped === 'string') throw new Problem('invalid_transition', stamped)
    return stamped.steps.map(({ event }) => event)
  }

  const until = (): number => clock.monotonic() + patience

  /** What was begun on this subject and not finished, by whomever, comes first. Answers the number of its last message. */
  async function readySubject(subject: string): Promise<number> {
    for (;;) {
      const { seq, rest } = await copy.position(subject, until())
      if (rest.length === 0) return seq
      await publishAll(subject, rest, seq)
    }
  }

  /** Undefined: somebody else was first, and what they wrote is in the fold now. */
  async function publishAll(
    subject: string,
    events: readonly JournalEvent[],
    expected: number,
  ): Promise<JournalEvent[] | undefined> {
    const committed: JournalEvent[] = []
    let last = expected
    for (const [index, event] of events.entries()) {
      const rest = events.slice(index + 1)
      const taken = await publish(subject, event, rest, last).catch((error: unknown) => {
        throw index === 0 ? error : begunOf(error)
      })
      // Only the first can meet somebody else's: all that comes after it is promised to this append.
      if (taken === undefined && index === 0) return undefined
      if (taken === undefined) throw gone()
      committed.push(taken)
      last = taken.seq
    }
    return committed
  }

  async function publish(
    subject: string,
    event: JournalEvent,
    rest: readonly JournalEvent[],
    expected: number,
  ): Promise<JournalEvent | undefined> {
    const data = encodeMessage(event, rest, vault)
    const arrival = copy.expect(event.id)
    /** Whether it may have been taken without an answer. */
    let isInDoubt = false
    try {
      for (const end = until(); ;) {
        try {
          copy.requireOwnEnd()
          const published = await stream.publish(subject, data, { id: event.id, expected })
          if (!('refusedAfter' in published) || published.refusedAfter >= expected) gracePeriod.reset()
          if ('seq' in published) await copy.reach(published.seq, end)
          else if (published.refusedAfter < expected) await refuseBehind(expected)
          else await copy.reach(published.refusedAfter, end)
          return arrival.event()
        } catch (error) {
          if (!(error instanceof StoreUnreachableError)) throw error
          if (arrival.event() !== undefined) return arrival.event()
          // Nobody makes room while this waits.
          if (error instanceof StoreFullError && !isInDoubt) throw error
          isInDoubt = true
          if (clock.monotonic() >= end || settings.givenUp?.aborted === true) throw begunOf(error)
          await pause(clock, pauseTime)
        }
      }
    } finally {
      arrival.forget()
    }
  }

  /** The stream has less than was seen in it: it is another one, or the server that answers has missed the last events. */
  async function refuseBehind(expected: number): Promise<never> {
    if (gracePeriod.isOver() || (await stream.isReplaced())) throw copy.fail(gone())
    throw new StoreUnreachableError(
      `The server of the fleet's store that answers does not have event ${expected} yet.`,
    )
  }

  function gone(): StoreRefusedError {
    return new StoreRefusedError(
      `The stream ${stream.name} was emptied or replaced while this host was running; nothing more is written to it. ` +
        "This host's copy has what was there: put the stream back and start again.",
    )
  }

  /**
   * What follows from the state, and the number of the last message of each subject that it goes by. That nothing follows,
   * or that it may not be, is only said after making sure that no other host has written meanwhile.
   */
  async function freshly<T extends readonly unknown[]>(
    subjects: readonly string[],
    decision: () => T,
  ): Promise<{ decided: T; expected: number[] }> {
    for (;;) {
      const expected = await Promise.all(subjects.map(readySubject))
      let refusal: unknown
      try {
        const decided = decision()
        if (decided.length > 0 || !(await wasBehind(subjects, expected))) return { decided, expected }
        continue
      } catch (error) {
        refusal = error
      }
      if (!(await wasBehind(subjects, expected))) throw refusal
    }
  }

  /** Whether the stream had more of a subject; if so, the fold has it now. */
  async function wasBehind(subjects: readonly string[], expected: readonly number[]): Promise<boolean> {
    let isBehind = false
    for (const [index, subject] of subjects.entries()) {
      const last = await stream.get({ last_by_subj: subject })
      if (last === undefined || last.seq <= (expected[index] ?? 0)) continue
      isBehind = true
      await copy.reach(last.seq, until())
    }
    return isBehind
  }

  /** For facts that are refused: throws `StaleDecisionError` when it is because their plugin is not as it is now. */
  function freshnessOf(facts: readonly Fact[]): (refusal: unknown) => void {
    const asked = new Map(facts.map(({ plugin }) => [plugin, plugin && parts.state().plugins.get(plugin)]))
    return (refusal) => {
      if (!(refusal instanceof Problem) || refusal.code !== 'invalid_transition') return
      for (const [plugin, snapshot] of asked) {
        const hasChanged = plugin !== null && parts.state().plugins.get(plugin) !== snapshot
        if (hasChanged) throw new StaleDecisionError(plugin, refusal)
      }
    }
  }

  async function appendGroup(
    subject: string,
    decision: Decision,
    by: Origin,
    requestKey: string | undefined,
  ): Promise<JournalEvent[]> {
    for (;;) {
      let done: JournalEvent[] | undefined
      const { decided, expected } = await freshly([subject], () => {
        // The same request may have come to another host, and was first there; or it was taken when it came first, and
        // nobody here knew.
        done = requestKey === undefined ? undefined : recall(requestKey)
        return done ?? stamp(decision(parts.state()), by, requestKey)
      })
      if (done !== undefined || decided.length === 0) return decided
      const committed = await publishAll(subject, decided, expected[0] ?? 0)
      if (committed !== undefined) return committed
    }
  }

  return {
    append(facts, by, requestKey) {
      const groups = new Map<string, Fact[]>()
      for (const fact of facts) {
        const subject = journalSubject(fleet, fact.plugin)
        groups.set(subject, [...(groups.get(subject) ?? []), fact])
      }
      const subjects = [...groups.keys()]
      const requireFresh = freshnessOf(facts)
      return holding(subjects, async () => {
        // All of them or none.
        if (groups.size > 1) await freshly(subjects, () => stamp(facts, by, requestKey))
        const events: JournalEvent[] = []
        for (const [subject, group] of groups) {
          const appended = appendGroup(subject, () => group, by, requestKey)
          events.push(...(await (events.length === 0 ? appended : appended.catch(throwBegun))))
        }
        return events
      }).catch((error: unknown) => {
        requireFresh(error)
        throw error
      })
    },
    decide(plugin, decision, by, requestKey) {
      const subject = journalSubject(fleet, plugin)
      return holding([subject], () => appendGroup(subject, decision, by, requestKey))
    },
    get ahead() {
      return copy.ahead
    },
    catchUp: async () => copy.reach((await stream.end()) ?? 0, until()),
    start: () => copy.start(),
    async idle() {
      await mutex.idle()
      await copy.idle()
    },
    close: () => copy.close(),
  }
}
