import { RetentionPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { StoreMissingError, StoreRefusedError } from '../store/store-errors.ts'
import { openStoreStream, type StoreStream } from '../store/store-stream.ts'
import { journalStreamName, journalSubjects } from './subjects.ts'

/** The stream of the fleet's journal. Knows nothing of what the messages say. */
export interface JournalStream extends Pick<
  StoreStream,
  'name' | 'room' | 'publish' | 'isReplaced' | 'get' | 'end' | 'follow'
> {
  /** Names the connection to the store: another one each time that it was lost. */
  session(): string
  /** Copies that the store keeps of each message. */
  readonly replicas: number
  /** Numbers of the first message that is there, and of the last there was; 1 and 0 when there was none. */
  readonly first: number
  readonly last: number
}

/** Opens the stream, and makes it when there is none, unless it has to be there. Throws `StoreRefusedError` at one that could lose events. */
export async function openJournalStream(
  connection: NatsConnection,
  fleet: string,
  { mustExist = false } = {},
): Promise<JournalStream> {
  const name = journalStreamName(fleet)
  const subjects = journalSubjects(fleet)
  const stream = await openStoreStream(connection, {
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

  const { config, state } = stream.info
  return {
    ...stream,
    session: () => `${connection.info?.server_id} ${connection.info?.client_id}`,
    ...{ replicas: config.num_replicas, first: state.first_seq, last: state.last_seq },
  }
}
