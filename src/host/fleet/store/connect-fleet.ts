import { pause } from '../../../base/time/wait.ts'
import { messageOf, Problem } from '../../../base/problem.ts'
import { diskRetryDelay } from '../../../base/files/disk-retry-delays.ts'
import { storageFault } from '../../../base/files/storage-fault.ts'
import { type FleetFiles, openFleetFiles } from '../../../fleet/files/fleet-files.ts'
import {
  type FleetJournal,
  type FleetJournalSettings,
  openFleetJournal,
} from '../../../fleet/journal/fleet-journal.ts'
import type { StreamQueueSettings } from '../../../fleet/journal/stream-queue.ts'
import { connectStore, type StoreAddress, type StoreConnection } from '../../../fleet/store/connect-store.ts'
import {
  StoreMissingError,
  StoreRefusedError,
  StoreFullError,
  StoreUnreachableError,
  storeGivenUp,
} from '../../../fleet/store/store-errors.ts'
import { openValueBucket, type ValueBucket } from '../../../fleet/values/value-bucket.ts'
import { abortable } from '../../../base/time/abortable.ts'
import type { JournalSettings } from '../../../journal/journal.ts'
import { defaultRepositoryLimits } from '../../../repository/limits.ts'
import type { FleetSettings } from '../../../settings/fleet-settings.ts'
import type { HostParts } from '../../host-parts.ts'
import { refuseWhenInterrupted } from '../../interrupted-start.ts'
import { isDiskFull } from '../../disk-full-retry.ts'
import type { Hindrance } from './last-known.ts'

/** What a fleet shares, in its store: the journal, files of plugins, stored values. */
export interface ConnectedFleet {
  readonly name: string
  readonly address: StoreAddress
  readonly connection: StoreConnection
  readonly files: FleetFiles
  readonly values: ValueBucket
  openJournal(parts: JournalParts): Promise<FleetJournal>
  /** During the start: does it again while the store is away, or the disk is full. Rejects when the start is interrupted. */
  patiently<T>(task: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface JournalParts extends Pick<
  JournalSettings,
  'directory' | 'files' | 'clock' | 'logger' | 'vault' | 'segmentBytes'
> {
  author: NonNullable<StreamQueueSettings['author']>
  /** As in `FleetJournalSettings`. */
  written?: FleetJournalSettings['written']
  /** Told once, when the journal cannot be followed any further. */
  failed(error: Error): void
}

export interface ConnectFleetSettings extends Omit<HostParts, 'directory'> {
  settings: FleetSettings
  interrupt: AbortSignal | undefined
  /**
   * Told before the next try when the start has to wait, and again when it is for something else by then. What it rejects with
   * ends the tries.
   */
  waits(hindrance: Hindrance): Promise<void>
}

/** Milliseconds between two tries to reach a store that is away at the start. */
const retryPause = 2_000

/**
 * Connects to the fleet's store; waits for one that is away. Rejects with one line when the store is not as it must be, and
 * when the start is interrupted.
 */
export async function connectFleet(parts: ConnectFleetSettings): Promise<ConnectedFleet> {
  const { settings, ring, files, clock, logger, interrupt } = parts
  const { fleet: name, servers, credentialsFile, passwordFile, caFile } = settings
  const address: StoreAddress = {
    ...{ servers, credentialsFile, passwordFile, caFile, files },
    name: `lupine ${name}`,
  }
  /** The start is to end while it waits for the store: nothing is waited for any more. */
  const givenUp = new AbortController()
  const patience = { clock, logger, interrupt, giveUp: () => givenUp.abort() }
  const patiently = createPatience({ ...patience, waits: parts.waits })
  const connection = await patiently(() =>
    abortable(interrupt, connectStore(address), storeGivenUp, (late) => late.close()),
  )
  // What is under way over it is answered so, at once.
  givenUp.signal.addEventListener('abort', () => void connection.close().catch(() => undefined))
  try {
    const values = await patiently(() => openValueBucket(connection, name, ring))
    await patiently(values.requireSharedKey)
    return {
      ...{ name, address, connection, values },
      patiently: createPatience(patience),
      files: withFileProblems(
        await patiently(() => openFleetFiles(connection, name, { clock, limits: defaultRepositoryLimits })),
      ),
      async openJournal(given) {
        const journal = await patiently(() =>
          openFleetJournal({ ...given, connection, fleet: name, givenUp: givenUp.signal }),
        )
        try {
          await patiently(values.shareKey)
        } catch (error) {
          await journal.close()
          throw error
        }
        return withProblems(journal)
      },
      close: () => connection.close(),
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

function createPatience({
  clock,
  logger,
  interrupt,
  giveUp,
  waits,
}: Pick<ConnectFleetSettings, 'clock' | 'logger' | 'interrupt'> &
  Partial<Pick<ConnectFleetSettings, 'waits'>> & { giveUp: () => void }) {
  /** What the start has said that it waits for. */
  let told: Hindrance['code'] | undefined
  return async <T>(task: () => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt += 1) {
      refuseWhenInterrupted(interrupt)
      interrupt?.addEventListener('abort', giveUp)
      try {
        const done = await task()
        if (told === 'storage_full') {
          logger.info('There is room on the disk again')
          told = undefined
        }
        return done
      } catch (error) {
        refuseWhenInterrupted(interrupt)
        const hindrance = hindranceOf(error)
        if (hindrance === undefined) throw error
        const { code, reason } = hindrance
        if (told !== code) {
          told = code
          logger.error(waiting[code], { error: reason })
          await waits?.(hindrance)
        }
        await pause(clock, code === 'storage_full' ? diskRetryDelay(attempt) : retryPause, interrupt)
      } finally {
        interrupt?.removeEventListener('abort', giveUp)
      }
    }
  }
}

const waiting: Readonly<Record<Hindrance['code'], string>> = {
  fleet_unreachable: "The start waits for the fleet's store",
  storage_full: 'The start waits for room on the disk',
}

/** What goes by itself. Undefined: the start is over. */
function hindranceOf(error: unknown): Hindrance | undefined {
  // What a caller should do about it is nothing to whoever starts the host.
  const cause = error instanceof Problem ? (error.cause ?? error) : error
  if (isDiskFull(error)) return { code: 'storage_full', reason: storageFault(cause) ?? messageOf(cause) }
  const isAway =
    error instanceof StoreUnreachableError ||
    (error instanceof StoreMissingError && !error.isCertain) ||
    (error instanceof Problem && error.code === 'fleet_unreachable')
  return isAway ? { code: 'fleet_unreachable', reason: messageOf(cause) } : undefined
}

const isInDoubt =
  'It is not known whether the change was made; look again, or repeat it with the same Idempotency-Key.'
const isNotDone = 'Nothing was changed.'

/** What the store refuses, as callers understand it. `otherwise`: what is known when it was not heard of. */
async function explained<T>(task: () => Promise<T>, otherwise: string): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (!(error instanceof StoreUnreachableError) && !(error instanceof StoreRefusedError)) throw error
    if (error instanceof StoreFullError)
      throw new Problem('storage_full', `${error.message} ${isNotDone}`, { cause: error })
    throw new Problem('fleet_unreachable', `${messageOf(error)} ${otherwise}`, { cause: error })
  }
}

/** The same journal, whose refusals callers understand. */
function withProblems(journal: FleetJournal): FleetJournal {
  return Object.create(journal, {
    append: {
      value: (...given: Parameters<FleetJournal['append']>) =>
        explained(() => journal.append(...given), isInDoubt),
    },
    decide: {
      value: (...given: Parameters<FleetJournal['decide']>) =>
        explained(() => journal.decide(...given), isInDoubt),
    },
    finishBegun: {
      value: (plugin: string) => explained(() => journal.finishBegun(plugin), isInDoubt),
    },
  }) as FleetJournal
}

/** The same files. They are put before the fact that names them, so that nothing has changed where that fails. */
function withFileProblems(files: FleetFiles): FleetFiles {
  return { ...files, put: (...given) => explained(() => files.put(...given), isNotDone) }
}
