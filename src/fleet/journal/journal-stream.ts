import { type ConsumerMessages, DeliverPolicy, RetentionPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { StoreMissingError, StoreRefusedError } from '../store/store-errors.ts'
import {
  openStoreStream,
  type Published,
  type PublishOptions,
  type StoredMessage,
  unreachable,
} from '../store/store-stream.ts'
import { isClustered } from '../store/stream-copies.ts'
import { journalStreamName, journalSubjects } from './subjects.ts'

/** The stream of the fleet's journal. Knows nothing of what the messages say. */
export interface JournalStream {
  readonly name: string
  /** Copies that the store keeps of each message. */
  readonly replicas: number
  /** Numbers of the first message that is there, and of the last there was; 1 and 0 when there was none. */
  readonly first: number
  readonly last: number
  /** Bytes that one message may have. */
  room(): number
  /** As those of a `StoreStream`. */
  publish(subject: string, data: string, options: PublishOptions): Promise<Published>
  isReplaced(): Promise<boolean>
  /** The message with this number, or the last one of a subject. */
  get(which: { seq: number } | { last_by_subj: string }): Promise<StoredMessage | undefined>
  /**
   * Hands out all messages behind `after`, in order, those to come included. Throws `StoreMissingError` when the stream is
   * gone, and `StoreUnreachableError`. What hands them out may die with its server, and is silent then.
   */
  follow(after: number, follower: Follower): Promise<Following>
}

export interface Follower {
  take(message: StoredMessage): void
  /** There is nothing new; told about every second. */
  alive(): void
  /** Nothing comes any more. */
  ended(): void
}

export interface Following {
  close(): Promise<void>
}

/** Milliseconds between two signs of life of a stream that has nothing new, and between two requests for more. */
const heartbeat = 1_000
const askingAgain = 5_000

/** Opens the stream, and makes it when there is none, unless it has to be there. Throws `StoreRefusedError` at one that could lose events. */
export async function openJournalStream(
  connection: NatsConnection,
  fleet: string,
  { mustExist = false } = {},
): Promise<JournalStream> {
  const name = journalStreamName(fleet)
  const subjects = journalSubjects(fleet)
  const { info, client, publish, get, room, isReplaced } = await openStoreStream(connection, {
    name,
    config: mustExist ? undefined : { subjects: [subjects], deny_delete: true, deny_purge: true },
    check,
  }).catch((error: unknown) => {
    if (!(error instanceof StoreMissingError)) throw error
    throw new StoreRefusedError(`The fleet's store has no stream ${name}; correct the name of the fleet.`, {
      cause: error,
    })
  })

  function check({ config }: StreamInfo): void {
    const { retention, max_age, max_msgs, max_bytes } = config
    if (config.subjects.join() !== subjects) {
      throw new StoreRefusedError(
        `The stream ${name} is not the journal of the fleet ${fleet}: it has the subjects ${config.subjects.join(', ')}. ` +
          'Give the fleet another name, or the stream.',
      )
    }
    const isEndless =
      max_age === 0 && max_msgs === -1 && max_bytes === -1 && retention === RetentionPolicy.Limits
    if (isEndless) return
    throw new StoreRefusedError(
      `The stream ${name} throws messages away by itself; take its limits on age, number and size off.`,
    )
  }

  return {
    name,
    replicas: info.config.num_replicas,
    first: info.state.first_seq,
    last: info.state.last_seq,
    publish,
    get,
    room,
    isReplaced,
    async follow(after, { take, alive, ended }) {
      const messages = await consume(after)
      let isClosed = false
      const reading = (async () => {
        for await (const { seq, subject, data } of messages) take({ seq, subject, data })
      })()
        .catch(() => undefined)
        .then(() => {
          if (!isClosed) ended()
        })
      const listening = (async () => {
        for await (const { type } of messages.status()) if (type === 'heartbeat') alive()
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

  async function consume(after: number): Promise<ConsumerMessages> {
    try {
      const consumer = await client.consumers.get(name, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: after + 1,
      })
      return await consumer.consume({ expires: askingAgain, idle_heartbeat: heartbeat })
    } catch (error) {
      if (error instanceof Error && error.name === 'StreamNotFoundError') {
        throw new StoreMissingError(
          `The stream ${name} was deleted; put it back and start again.`,
          !isClustered(connection),
          { cause: error },
        )
      }
      throw unreachable(error)
    }
  }
}
