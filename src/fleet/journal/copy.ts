import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import { storageFault } from '../../base/files/storage-fault.ts'
import type { AppendQueueParts } from '../../journal/append-queue.ts'
import type { HostState } from '../../journal/fold/evolve.ts'
import type { Vault } from '../../journal/vault.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import { createGracePeriod } from '../store/grace-period.ts'
import { StoreUnreachableError } from '../store/store-errors.ts'
import type { Follower, Following, Pace, StoredMessage } from '../store/store-stream.ts'
import { createStreamReader } from '../store/stream-reader.ts'
import { foldMessages, type Step } from './fold-messages.ts'
import type { JournalStream } from './journal-stream.ts'
import { createOwnEnd } from './own-end.ts'
import { decodeMessage } from './stream-message.ts'

/**
 * This host's copy of the journal: takes each message of the stream into the fold, and onto the disk, where a start finds
 * it and from where history is read. It is a cache: what is not on disk here is in the stream.
 */
export interface Copy {
  start(): Promise<void>
  /** The last message of a subject, once the fold has it, and what is still to follow it. */
  position(subject: string, end: number): Promise<Position>
  /** Resolves when the fold has the message with this number. Rejects with `StoreUnreachableError` when it is too late. */
  reach(seq: number, end: number): Promise<void>
  /** What the last message says of a first journal that is being brought: as in `StreamMessage`. */
  readonly firstJournalEnd: number
  /** Throws where the stream may have lost its end since it was looked at; that is done again then. */
  requireOwnEnd(): void
  /** While the disk refuses the copy: what the state will be once it takes what has come since, as far as that is known. */
  readonly ahead: HostState | undefined
  /** Looks out for an event. */
  expect(id: string): { event(): JournalEvent | undefined; forget(): void }
  /** The journal cannot be followed any further. Answers the error, for throwing. */
  fail(error: Error): Error
  idle(): Promise<void>
  close(): Promise<void>
}

export interface Position {
  seq: number
  rest: readonly JournalEvent[]
}

export interface CopySettings {
  stream: JournalStream
  clock: Clock
  vault: Vault
  logger: Logger
  /** Rejects with a `StoreRefusedError` where the stream does not have the last event of the fold. */
  requireOwnEnd(): Promise<void>
  /** Told once when the journal cannot be followed any further. */
  failed(error: Error): void
  /** Nothing is waited for any more. */
  givenUp?: AbortSignal | undefined
  parts: AppendQueueParts
}

/** Messages that are folded and written at once. */
const messagesAtOnce = 500
/** Milliseconds after which the disk is tried again. */
const diskPause = 1_000
/**
 * Bytes of messages that wait for the disk. One that takes nothing may do so for days; the stream keeps what comes meanwhile,
 * and is followed from there once all of these are on disk.
 */
const mostBytesWaiting = 8 * 1024 * 1024
/** Milliseconds without a new message, before a start is given up. */
const startPatience = 10_000

export function createCopy(settings: CopySettings): Copy {
  const { stream, clock, vault, logger, failed, givenUp, parts } = settings
  let inbox: StoredMessage[] = []
  let bytesWaiting = 0
  let isFull = false
  let draining: Promise<void> | undefined
  let failure: Error | undefined
  /** What the disk said last; whoever waits is told. */
  let diskProblem: Problem | undefined
  let ahead: HostState | undefined
  let isClosed = false
  let firstJournalEnd = 0
  let retry: ScheduledCall | undefined
  const positions = new Map<string, Position>()
  const expected = new Map<string, JournalEvent | undefined>()
  let waiting: { seq: number; check(): void }[] = []
  const reader = createStreamReader({
    ...{ name: "The fleet's journal", clock, logger, take, gracePeriod: createGracePeriod(clock) },
    pace: { heartbeat: 1_000, askingAgain: 5_000 },
    follow,
    isGivenUp: () => failure !== undefined || isFull,
    failed: (error) => void fail(error),
  })

  const ownEnd = createOwnEnd(stream, settings.requireOwnEnd)

  givenUp?.addEventListener('abort', tellAll)

  async function follow(pace: Pace, follower: Follower): Promise<Following> {
    await draining
    // What waits for the disk is handed out again, where the stream still has it.
    inbox = []
    bytesWaiting = 0
    ahead = undefined
    await ownEnd.look()
    return stream.follow(parts.state().seq, pace, follower)
  }

  function fail(error: Error): Error {
    if (failure === undefined) failed(error)
    failure ??= error
    tellAll()
    return failure
  }

  function tellAll(): void {
    const told = waiting
    waiting = []
    for (const { check } of told) check()
  }

  function take(message: StoredMessage): void {
    inbox.push(message)
    bytesWaiting += message.data.length
    if (bytesWaiting >= mostBytesWaiting) {
      isFull = true
      reader.pause()
    }
    if (retry === undefined) draining ??= drain().finally(() => (draining = undefined))
  }

  async function drain(): Promise<void> {
    while (inbox.length > 0 && failure === undefined && !isClosed) {
      const group = inbox.slice(0, messagesAtOnce)
      let steps: Step[]
      try {
        steps = foldMessages(stream.name, group, parts.state(), vault).steps
      } catch (error) {
        fail(error as Error)
        return
      }
      try {
        const lines = steps.map(({ event }) => ({ text: parts.encode(event), plugin: event.plugin }))
        if (lines.length > 0) await parts.write(lines)
        settle()
      } catch (error) {
        diskProblem = diskRefused(error)
        tellAll()
        retry = clock.schedule(diskPause, () => {
          retry = undefined
          draining ??= drain().finally(() => (draining = undefined))
        })
        return
      }
      inbox = inbox.slice(group.length)
      for (const { data } of group) bytesWaiting -= data.length
      for (const { event, rest, applied, subject, firstJournalEnd: end } of steps) {
        parts.commit(event, applied)
        firstJournalEnd = end
        positions.set(subject, { seq: event.seq, rest })
        if (expected.has(event.id)) expected.set(event.id, event)
      }
      parts.committed()
      tellAll()
      if (isFull && inbox.length === 0) {
        isFull = false
        reader.followAnew()
      }
      if (parts.rotationIsDue()) await parts.rotate()
    }
    if (inbox.length === 0) settle()
  }

  function settle(): void {
    diskProblem = undefined
    ahead = undefined
  }

  function diskRefused(error: unknown): Problem {
    const reason = messageOf(error)
    if (diskProblem === undefined)
      logger.error("The copy of the fleet's journal could not be written", { error: reason })
    const advice = storageFault(error) ?? 'Make room in the data directory and try again.'
    return new Problem(
      'storage_full',
      `This host's copy of the fleet's journal cannot be written (${reason}). ${advice} Whether the change was made, the ` +
        'history shows at any other host; then it takes effect here as soon as there is room.',
      { cause: error },
    )
  }

  function stateAhead(): HostState | undefined {
    if (diskProblem === undefined) return undefined
    try {
      const before = ahead ?? parts.state()
      if ((inbox.at(-1)?.seq ?? 0) > before.seq)
        ahead = foldMessages(stream.name, inbox, before, vault).state()
    } catch (error) {
      // It ends this host when there is room for what comes before.
      logger.debug('What waits for the disk could not be looked at', { error: messageOf(error) })
    }
    return ahead
  }

  /** `end`: on the monotonic clock. */
  function reach(seq: number, end: number): Promise<void> {
    return new Promise((resolve, reject) => {
      // A timer may come a moment before the clock says so, and nobody asks again.
      let isOver = false
      const timer = clock.schedule(Math.max(0, end - clock.monotonic()), () => {
        isOver = true
        waiting = waiting.filter((one) => one.check !== check)
        check()
      })
      function check(): void {
        const problem = failure ?? diskProblem
        const isReached = parts.state().seq >= seq
        const isLate = isOver || clock.monotonic() >= end || givenUp?.aborted === true
        if (!isReached && problem === undefined && !isLate) {
          waiting.push({ seq, check })
          return
        }
        timer.cancel()
        if (!isReached && problem === undefined && givenUp?.aborted !== true) reader.followAnew()
        if (isReached) resolve()
        else reject(problem ?? new StoreUnreachableError(`Event ${seq} of the fleet's journal has not come.`))
      }
      check()
    })
  }

  return {
    fail,
    reach,
    get firstJournalEnd() {
      return firstJournalEnd
    },
    get ahead() {
      return stateAhead()
    },
    async start() {
      await reader.start()
      while (parts.state().seq < stream.last) {
        const next = Math.min(stream.last, parts.state().seq + messagesAtOnce)
        await reach(next, clock.monotonic() + startPatience)
      }
    },
    async position(subject, end) {
      const problem = failure ?? ownEnd.lost ?? diskProblem
      if (problem !== undefined) throw problem
      const known = positions.get(subject)
      if (known !== undefined) return known
      const last = await stream.get({ last_by_subj: subject })
      if (last !== undefined) await reach(last.seq, end)
      const found = last === undefined ? undefined : decodeMessage(last.data, last.seq, vault)
      const position = { seq: last?.seq ?? 0, rest: found?.rest ?? [] }
      // A later one may have come meanwhile.
      if (!positions.has(subject)) positions.set(subject, position)
      return positions.get(subject) ?? position
    },
    requireOwnEnd: () => ownEnd.require(reader.followAnew),
    expect(id) {
      expected.set(id, undefined)
      return { event: () => expected.get(id), forget: () => void expected.delete(id) }
    },
    async idle() {
      await draining
    },
    async close() {
      isClosed = true
      givenUp?.removeEventListener('abort', tellAll)
      retry?.cancel()
      await reader.close()
      await draining
    },
  }
}
