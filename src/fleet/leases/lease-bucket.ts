import { DiscardPolicy } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { isSameCreation } from '../store/creation-time.ts'
import { StoreBehindError, StoreRefusedError, StoreReplacedError } from '../store/store-errors.ts'
import { openStoreStream } from '../store/store-stream.ts'
import { createStreamReader, type StreamReader, type StreamReaderSettings } from '../store/stream-reader.ts'

/** A bucket of keys with a record each, as the store's own tools know it. Knows nothing of what the records say. */
export interface LeaseBucket {
  /** When it was made, and the revision of the last write in it; 0: there is none. */
  readonly created: string
  readonly last: number
  /**
   * Writes the key (null takes it away) on top of a revision, 0 for none. Answers the new one, or undefined when the key has
   * another. Throws `StoreUnreachableError` when that is not known.
   */
  write(key: string, data: string | null, expected: number): Promise<number | undefined>
  /** Of the last of each key, then of each write as it comes. */
  reader(settings: BucketReaderSettings): StreamReader
}

export interface BucketReaderSettings extends Omit<
  StreamReaderSettings,
  'name' | 'pace' | 'follow' | 'take'
> {
  take(entry: BucketEntry): void
}

export interface BucketEntry {
  key: string
  revision: number
  /** Null: the key was taken away. */
  data: Uint8Array | null
}

const whatToDo = 'start this host again, when no host runs that knows the one before.'

/** `created`: as it was before; another one is refused, and none is made. Undefined: this process has not seen it. */
export async function openLeaseBucket(
  connection: NatsConnection,
  bucket: string,
  before: { created: string; last: number } | undefined,
): Promise<LeaseBucket> {
  const prefix = `$KV.${bucket}.`
  const { info, publish, follow } = await openStoreStream(connection, {
    name: `KV_${bucket}`,
    config:
      before === undefined
        ? {
            subjects: [`${prefix}>`],
            max_msgs_per_subject: 1,
            discard: DiscardPolicy.New,
            allow_direct: true,
            deny_delete: true,
            deny_purge: true,
          }
        : undefined,
    check({ config, created, state }) {
      if (config.subjects.join() !== `${prefix}>` || config.max_msgs_per_subject < 1) {
        throw new StoreRefusedError(
          `The stream KV_${bucket} is not the bucket of this fleet: it has the subjects ${config.subjects.join(', ')}. ` +
            'Give the fleet another name, or the stream.',
        )
      }
      if (before !== undefined && !isSameCreation(created, before.created)) {
        throw new StoreReplacedError(
          `The bucket ${bucket} was replaced while this host was running; ${whatToDo}`,
        )
      }
      if (before !== undefined && state.last_seq < before.last) {
        throw new StoreBehindError(
          `The bucket ${bucket} ends with revision ${state.last_seq}, and this host has seen revision ${before.last} in it; ` +
            `if it was put back from a backup, ${whatToDo}`,
        )
      }
    },
  })

  return {
    created: info.created,
    last: info.state.messages === 0 ? 0 : info.state.last_seq,
    async write(key, data, expected) {
      const answer = await publish(`${prefix}${key}`, data ?? '', { expected, removes: data === null })
      return 'seq' in answer ? answer.seq : undefined
    },
    reader: (settings) =>
      createStreamReader({
        ...settings,
        name: `The bucket ${bucket} of the fleet's store`,
        // Most of the time there is nothing to say, and each host has two of them.
        pace: { heartbeat: 2_000, askingAgain: 30_000 },
        follow: (pace, follower) => follow('last of each subject', pace, follower),
        take: ({ seq, subject, data }, isRemoval) =>
          settings.take({ key: subject.slice(prefix.length), revision: seq, data: isRemoval ? null : data }),
      }),
  }
}
