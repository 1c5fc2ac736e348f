import type { Clock } from '../../../base/time/clock.ts'
import { pause } from '../../../base/time/wait.ts'
import type { FileSystem } from '../../../base/files/file-system.ts'
import type { KeyRing } from '../../../base/keys/key-ring.ts'
import type { Logger } from '../../../base/log/log.ts'
import { messageOf, Problem } from '../../../base/problem.ts'
import { type FleetFiles, openFleetFiles } from '../../../fleet/files/fleet-files.ts'
import { type FleetJournal, openFleetJournal } from '../../../fleet/journal/fleet-journal.ts'
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
import { unlessAborted } from '../../../base/time/unless-aborted.ts'
import type { JournalSettings } from '../../../journal/journal.ts'
import { defaultRepositoryLimits } from '../../../repository/limits.ts'
import type { FleetSettings } from '../../../settings/fleet-settings.ts'
import { refuseWhenInterrupted } from '../../interrupted-start.ts'

/** What a fleet shares, in its store: the journal, files of plugins, stored values. */
export interface ConnectedFleet {
  readonly name: string
  readonly address: StoreAddress
  readonly connection: StoreConnection
  readonly files: FleetFiles
  readonly values: ValueBucket
  openJournal(parts: JournalParts): Promise<FleetJournal>
  /** During the start: does it again while the store is away. Rejects when the start is interrupted. */
  patiently<T>(task: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface JournalParts extends Pick<
  JournalSettings,
  'directory' | 'files' | 'clock' | 'logger' | 'vault' | 'segmentBytes'
> {
  author: NonNullable<StreamQueueSettings['author']>
  /** Told once, when the journal cannot be followed any further. */
  failed(error: Error): void
}

export interface ConnectFleetSettings {
  settings: FleetSettings
  ring: KeyRing
  files: FileSystem
  clock: Clock
  logger: Logger
  interrupt: AbortSignal | undefined
  /** Told once, before the next try, when the store is away: with why. What it rejects with ends the tries. */
  away(reason: string): Promise<void>
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
  const patiently = createPatience({ ...patience, away: parts.away })
  const connection = await patiently(() =>
    unlessAborted(interrupt, connectStore(address), storeGivenUp, (late) => late.close()),
  )
  // What is under way over it is answered so, at once.
  givenUp.signal.addEventListener('abort', () => void connection.close().catch(() => undefined))
  try {
    const values = await patiently(() => openValueBucket(connection, name, ring))
    await patiently(values.requireSharedKey)
    return {
      ...{ name, address, connection, values },
      patiently: createPatience(patience),
      files: await patiently(() =>
        openFleetFiles(connection, name, { clock, limits: defaultRepositoryLimits }),
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
  away,
}: Pick<ConnectFleetSettings, 'clock' | 'logger' | 'interrupt'> &
  Partial<Pick<ConnectFleetSettings, 'away'>> & { giveUp: () => void }) {
  let isTold = false
  return async <T>(task: () => Promise<T>): Promise<T> => {
    for (;;) {
      refuseWhenInterrupted(interrupt)
      interrupt?.addEventListener('abort', giveUp)
      try {
        return await task()
      } catch (error) {
        refuseWhenInterrupted(interrupt)
        const isAway =
          error instanceof StoreUnreachableError ||
          (error instanceof StoreMissingError && !error.isCertain) ||
          (error instanceof Problem && error.code === 'fleet_unreachable')
        if (!isAway) throw error
        if (!isTold) {
          isTold = true
          // What a caller should do about it is nothing to whoever starts the host.
          const reason = messageOf(error instanceof Problem ? (error.cause ?? error) : error)
          logger.error("The start waits for the fleet's store", { error: reason })
          await away?.(reason)
        }
        await pause(clock, retryPause, interrupt)
      } finally {
        interrupt?.removeEventListener('abort', giveUp)
      }
    }
  }
}

/** The same journal, whose refusals callers understand. */
function withProblems(journal: FleetJournal): FleetJournal {
  const explained = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) && !(error instanceof StoreRefusedError)) throw error
      if (error instanceof StoreFullError)
        throw new Problem('storage_full', `${error.message} Nothing was changed.`, { cause: error })
      throw new Problem(
        'fleet_unreachable',
        `${messageOf(error)} It is not known whether the change was made; look again, or repeat it with the same Idempotency-Key.`,
        { cause: error },
      )
    }
  }
  return Object.create(journal, {
    append: {
      value: (...given: Parameters<FleetJournal['append']>) => explained(() => journal.append(...given)),
    },
    decide: {
      value: (...given: Parameters<FleetJournal['decide']>) => explained(() => journal.decide(...given)),
    },
  }) as FleetJournal
}
