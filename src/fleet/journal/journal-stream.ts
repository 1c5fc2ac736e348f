import type { JetStreamClient, JetStreamManager, StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { messageOf, Problem } from '../../base/problem.ts'
import { StoreRefusedError, StoreUnreachableError } from '../store/store-errors.ts'
import { journalStreamName, journalSubjects } from './subjects.ts'

/** The stream of the fleet's journal, as JetStream has it. Knows nothing of what the messages say. */
export interface JournalStream {
  readonly name: string
  /** Copies that the store keeps of each message. */
  readonly replicas: number
  /** Numbers of the first message that is there, and of the last there was; 1 and 0 when there was none. */
  readonly first: number
  readonly last: number
  /**
   * Appends a message on top of the last one of its subject; `expected` is its number, 0 for none. Answers its number, or
   * that of the message which is the last one in fact. The same `id` is taken once. Throws `StoreUnreachableError` when
   * it is not known whether it was taken, and `body_too_large` when it is more than the store takes.
   */
  publish(subject: string, data: string, id: string, expected: number): Promise<Published>
  /** The message with this number, or the last one of a subject. */
  get(which: { seq: number } | { last_by_subj: string }): Promise<StoredMessage | undefined>
  /** Hands out all messages behind `after`, in order, those to come included. `ended`: the stream is gone. */
  follow(after: number, take: (message: StoredMessage) => void, ended: () => void): Promise<Following>
}

export type Published = { seq: number } | { refusedAfter: number }

export interface StoredMessage {
  seq: number
  subject: string
  data: Uint8Array
}

export interface Following {
  close(): Promise<void>
}

/** Milliseconds that the store has for one answer. */
const answerTimeout = 1_000
/**
 * Milliseconds between two signs of life of a stream that has nothing new; without two of them it is followed anew,
 * because the server that handed its messages out may be dead. And between two requests for more.
 */
const heartbeat = 1_000
const askingAgain = 5_000
const wrongLastSequence = 10_071
/** Answers of a server that cannot keep so many copies. */
const tooFewServers: ReadonlySet<number> = new Set([10_005, 10_052, 10_074])
const copiesWanted = 3
/** Bytes that the headers of a message take, at most; the store counts them. */
const bytesOfHeaders = 512

/** Opens the stream, and makes it when there is none. Throws `StoreRefusedError` at one that could lose events. */
export async function openJournalStream(connection: NatsConnection, fleet: string): Promise<JournalStream> {
  const { jetstream, jetstreamManager, DeliverPolicy, JetStreamApiError, RetentionPolicy } =
    await import('@nats-io/jetstream')
  const name = journalStreamName(fleet)
  const { manager, info } = await openOrCreate()
  const client: JetStreamClient = jetstream(connection, { timeout: answerTimeout })

  async function openOrCreate(): Promise<{ manager: JetStreamManager; info: StreamInfo }> {
    try {
      // Asks whether there is JetStream at all.
      const found = await jetstreamManager(connection)
      return { manager: found, info: await existing(found) }
    } catch (error) {
      if (error instanceof StoreRefusedError) throw error
      if (error instanceof Error && error.name === 'JetStreamNotEnabled') {
        throw new StoreRefusedError(
          "The fleet's store has no JetStream; start nats-server with --jetstream and a --store_dir.",
          { cause: error },
        )
      }
      if (error instanceof JetStreamApiError) {
        throw new StoreRefusedError(`The fleet's store refuses the stream ${name}: ${error.message}.`, {
          cause: error,
        })
      }
      throw unreachable(error)
    }
  }

  async function existing(found: JetStreamManager): Promise<StreamInfo> {
    try {
      return checked(await found.streams.info(name))
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StreamNotFoundError') throw error
    }
    for (const copies of [copiesWanted, 1]) {
      try {
        return checked(
          await found.streams.add({
            name,
            subjects: [journalSubjects(fleet)],
            num_replicas: copies,
            deny_delete: true,
            deny_purge: true,
          }),
        )
      } catch (error) {
        if (copies === 1 || !(error instanceof JetStreamApiError) || !tooFewServers.has(error.code))
          throw error
      }
    }
    throw new Error('One copy is kept by any server')
  }

  function checked(found: StreamInfo): StreamInfo {
    const { subjects, retention, max_age, max_msgs, max_bytes } = found.config
    if (subjects.join() !== journalSubjects(fleet)) {
      throw new StoreRefusedError(
        `The stream ${name} is not the journal of the fleet ${fleet}: it has the subjects ${subjects.join(', ')}. ` +
          'Give the fleet another name, or the stream.',
      )
    }
    const isEndless =
      max_age === 0 && max_msgs === -1 && max_bytes === -1 && retention === RetentionPolicy.Limits
    if (isEndless) return found
    throw new StoreRefusedError(
      `The stream ${name} throws messages away by itself; take its limits on age, number and size off.`,
    )
  }

  return {
    name,
    replicas: info.config.num_replicas,
    first: info.state.first_seq,
    last: info.state.last_seq,
    async publish(subject, data, id, expected) {
      const room = (connection.info?.max_payload ?? Infinity) - bytesOfHeaders
      const size = Buffer.byteLength(data)
      if (size > room) {
        throw new Problem(
          'body_too_large',
          `The change takes ${size} bytes, and the fleet's store takes ${room} at once; raise max_payload of nats-server.`,
        )
      }
      try {
        const { seq } = await client.publish(subject, data, {
          msgID: id,
          expect: { lastSubjectSequence: expected },
        })
        return { seq }
      } catch (error) {
        if (error instanceof JetStreamApiError && error.code === wrongLastSequence) {
          return { refusedAfter: Number(error.message.split(': ').at(-1)) }
        }
        throw unreachable(error)
      }
    },
    async get(which) {
      try {
        return (await manager.streams.getMessage(name, which)) ?? undefined
      } catch (error) {
        throw unreachable(error)
      }
    },
    async follow(after, take, ended) {
      const consumer = await client.consumers.get(name, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: after + 1,
      })
      const messages = await consumer.consume({ expires: askingAgain, idle_heartbeat: heartbeat })
      let isClosed = false
      const reading = (async () => {
        for await (const { seq, subject, data } of messages) take({ seq, subject, data })
      })()
        .catch(() => undefined)
        .then(() => {
          if (!isClosed) ended()
        })
      return {
        async close() {
          isClosed = true
          await messages.close()
          await reading
        },
      }
    },
  }
}

function unreachable(error: unknown): StoreUnreachableError {
  return new StoreUnreachableError(`The fleet's store did not answer (${messageOf(error)}).`, {
    cause: error,
  })
}
