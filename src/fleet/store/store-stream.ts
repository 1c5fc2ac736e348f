import {
  type ConsumerMessages,
  DeliverPolicy,
  jetstream,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import { Problem } from '../../base/problem.ts'
import { isSameCreation } from './creation-time.ts'
import { isConnected } from './keep-nothing.ts'
import { questionsOver } from './silent-store.ts'
import {
  StoreFullError,
  StoreMissingError,
  StoreRefusedError,
  StoreUnreachableError,
  silent,
  unreachable,
} from './store-errors.ts'
import { createStream, isClustered, streamInfo, withCopies } from './stream-copies.ts'

/** A stream of the fleet's store, as JetStream has it: the journal, or what keys and objects are kept in. */
export interface StoreStream {
  readonly name: string
  /** As it was when it was opened. */
  readonly info: StreamInfo
  /** Bytes that one message may have. */
  room(): number
  /**
   * Writes a message. With `expected`, on top of the last message of its subject, whose number that is (0: there is none);
   * or it answers the number that the last one has in fact. The same `id` is taken once. Throws `StoreUnreachableError`
   * when it is not known whether it was taken, `StoreFullError` when it was not for want of room, and `body_too_large` when it is more than the store takes.
   */
  publish(subject: string, data: string | Uint8Array, options: PublishOptions): Promise<Published>
  /** From the leader: whatever was acknowledged before is seen. */
  get(which: { seq: number } | { last_by_subj: string } | NextMessage): Promise<StoredMessage | undefined>
  /** Number of the last message there was, from the leader; 0 when there was none. Undefined: there is no stream. */
  end(): Promise<number | undefined>
  /** Subjects that have a message; `filter` may have wildcards. */
  subjects(filter: string): Promise<string[]>
  /** Takes all messages of a subject away. Nothing happens when there is none. */
  purge(subject: string): Promise<void>
  /** Takes the message with this number away, and no other. */
  remove(seq: number): Promise<void>
  /** Whether another one was made in the place of the stream that was opened. */
  isReplaced(): Promise<boolean>
  /**
   * Hands out messages in order, those to come included: all behind a number, or first the last one of each subject. Throws
   * `StoreMissingError` when the stream is gone, and `StoreUnreachableError`. What hands them out may die with its server, and
   * is silent then: a `StreamReader` sees to that.
   */
  follow(from: number | 'last of each subject', pace: Pace, follower: Follower): Promise<Following>
}

/** Milliseconds between two signs of life of a stream that has nothing new, and between two requests for more. */
export interface Pace {
  heartbeat: number
  askingAgain: number
}

export interface Follower {
  /** `isRemoval`: where the stream is a bucket of keys, its key was taken away. */
  take(message: StoredMessage, isRemoval: boolean): void
  /** There is nothing new; told with each heartbeat. */
  alive(): void
  /** Nothing comes any more. */
  ended(): void
}

export interface Following {
  close(): Promise<void>
}

export interface PublishOptions {
  id?: string
  expected?: number
  /** As `expected`, for the last message of the whole stream. */
  expectedOfStream?: number
  /** Takes the place of all messages of its subject. */
  replaces?: boolean
  /** Marks its key as taken away, where the stream is a bucket of keys. */
  removes?: boolean
}

/** The first message of a subject from this number on. */
export interface NextMessage {
  seq: number
  next_by_subj: string
}

export type Published = { seq: number } | { refusedAfter: number }

export interface StoredMessage {
  seq: number
  subject: string
  data: Uint8Array
}

/** Milliseconds that the store has for one answer. */
const answerTimeout = 1_000
/** With it, a message of a bucket takes its key away. */
const operationHeader = 'KV-Operation'
const wrongLastSequence = 10_071
/** What a server says that has no room: of its own, of the account's, in memory, on its disk, in the stream. */
const withoutRoom: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047, 10_077])
/** HTTP status of what a server answers while it has not found the others. */
const temporarilyAway = 503
/** Bytes that the headers of a message take, at most; the store counts them. */
const bytesOfHeaders = 512

export interface StoreStreamSettings {
  name: string
  /** How it is made when it is not there; undefined: it was there before, and is not made anew. */
  config: (Partial<StreamConfig> & { subjects: string[] }) | undefined
  /** Throws `StoreRefusedError` at one that is not as it must be. */
  check(info: StreamInfo): void
}

/** Opens a stream; makes it when there is none, with three copies where there are three servers. */
export async function openStoreStream(
  connection: NatsConnection,
  { name, config, check }: StoreStreamSettings,
): Promise<StoreStream> {
  const { manager, info } = await openOrCreate()
  const client = jetstream(connection, { timeout: answerTimeout })
  const questions = questionsOver(connection)

  async function openOrCreate(): Promise<{ manager: JetStreamManager; info: StreamInfo }> {
    try {
      // Asks whether there is JetStream at all.
      const found = await jetstreamManager(connection)
      const existing = await existingOrNew(found)
      check(existing)
      return { manager: found, info: existing }
    } catch (error) {
      if (error instanceof StoreRefusedError || error instanceof StoreUnreachableError) throw error
      if (error instanceof Error && error.name === 'JetStreamNotEnabled') {
        throw new StoreRefusedError(
          "The fleet's store has no JetStream; start nats-server with --jetstream and a --store_dir.",
          { cause: error },
        )
      }
      if (error instanceof JetStreamApiError && error.status !== temporarilyAway) {
        throw new StoreRefusedError(`The fleet's store refuses the stream ${name}: ${error.message}.`, {
          cause: error,
        })
      }
      throw unreachable(error)
    }
  }

  async function existingOrNew(found: JetStreamManager): Promise<StreamInfo> {
    const asked = { connection, manager: found, name }
    const existing = await streamInfo(asked)
    if (existing !== undefined) return config === undefined ? existing : withCopies(asked, existing)
    if (config !== undefined) return createStream(asked, config)
    throw new StoreMissingError(
      `The stream ${name} was deleted while this host was running; put it back and start again.`,
      !isClustered(connection),
    )
  }

  function room(): number {
    return (connection.info?.max_payload ?? Infinity) - bytesOfHeaders
  }

  /** Whatever else it says, it has not answered what was asked. */
  async function asking<T>(question: () => Promise<T>): Promise<T> {
    try {
      const answer = await question()
      questions.answered()
      return answer
    } catch (error) {
      throw error instanceof StoreUnreachableError ? error : unanswered(error)
    }
  }

  function unanswered(error: unknown): StoreUnreachableError {
    questions.unanswered()
    const isSilent = error instanceof Error && error.name === 'TimeoutError' && isConnected(connection)
    return isSilent ? silent(error) : unreachable(error)
  }

  async function consume(
    from: number | 'last of each subject',
    { heartbeat, askingAgain }: Pace,
  ): Promise<ConsumerMessages> {
    try {
      const consumer = await client.consumers.get(
        name,
        typeof from === 'string'
          ? { deliver_policy: DeliverPolicy.LastPerSubject }
          : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from + 1 },
      )
      questions.answered()
      return await consumer.consume({ expires: askingAgain, idle_heartbeat: heartbeat })
    } catch (error) {
      if (error instanceof Error && error.name === 'StreamNotFoundError') {
        throw new StoreMissingError(
          `The stream ${name} was deleted; put it back and start again.`,
          !isClustered(connection),
          { cause: error },
        )
      }
      throw unanswered(error)
    }
  }

  return {
    name,
    info,
    room,
    async publish(subject, data, { id, expected, expectedOfStream, replaces = false, removes = false }) {
      const size = Buffer.byteLength(data)
      if (size > room()) {
        throw new Problem(
          'body_too_large',
          `The change takes ${size} bytes, and the fleet's store takes ${room()} at once; raise max_payload of nats-server.`,
        )
      }
      const marks = headers()
      if (replaces) marks.set('Nats-Rollup', 'sub')
      if (removes) marks.set(operationHeader, 'DEL')
      try {
        const { seq } = await client.publish(subject, data, {
          ...(id === undefined ? {} : { msgID: id }),
          headers: marks,
          expect: {
            ...(expected === undefined ? {} : { lastSubjectSequence: expected }),
            ...(expectedOfStream === undefined ? {} : { lastSequence: expectedOfStream }),
          },
        })
        questions.answered()
        return { seq }
      } catch (error) {
        if (error instanceof JetStreamApiError && error.code === wrongLastSequence) {
          // Only who knows the last one can say so.
          questions.answered()
          return { refusedAfter: Number(error.message.split(': ').at(-1)) }
        }
        if (error instanceof JetStreamApiError && withoutRoom.has(error.code)) {
          throw new StoreFullError(
            `The fleet's store has no room (${error.message}): raise max_file_store of nats-server's jetstream, or make room on its disk.`,
            { cause: error },
          )
        }
        throw unanswered(error)
      }
    },
    get: (which) =>
      // The client's type wants a subject beside the number, and says so of either.
      asking(async () => (await manager.streams.getMessage(name, which as { seq: number })) ?? undefined),
    end: () => asking(async () => (await streamInfo({ connection, manager, name }))?.state.last_seq),
    subjects: (filter) =>
      asking(async () => {
        const found = await manager.streams.info(name, { subjects_filter: filter })
        return Object.keys(found.state.subjects ?? {})
      }),
    purge: (subject) => asking(async () => void (await manager.streams.purge(name, { filter: subject }))),
    remove: (seq) => asking(async () => void (await manager.streams.deleteMessage(name, seq, false))),
    isReplaced: () =>
      asking(async () => {
        const found = await streamInfo({ connection, manager, name })
        if (found === undefined || found.created === info.created) return false
        // One that was made just after it, and has been filled since, is taken for the same: nobody is that quick.
        return found.state.messages === 0 || !isSameCreation(found.created, info.created)
      }),
    async follow(from, pace, { take, alive, ended }) {
      const messages = await consume(from, pace)
      let isClosed = false
      const reading = (async () => {
        for await (const { seq, subject, data, headers: found } of messages)
          take({ seq, subject, data }, (found?.get(operationHeader) ?? '') !== '')
      })()
        .catch(() => undefined)
        .then(() => (isClosed ? undefined : ended()))
      const listening = (async () => {
        for await (const { type } of messages.status()) {
          if (type === 'heartbeat') alive()
          // What handed them out is gone, and would be made anew without a look whether this still is the same stream.
          if (type === 'reset') ended()
        }
      })().catch(() => undefined)
      return {
        async close() {
          isClosed = true
          await messages.close()
          await reading
          await listening
        },
      }
    },
  }
}
