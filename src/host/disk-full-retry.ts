import type { Clock } from '../base/time/clock.ts'
import { pause } from '../base/time/wait.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf, Problem, systemErrorCode } from '../base/problem.ts'
import { diskRetryDelay } from '../base/files/disk-retry-delays.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import type { SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import type { RetryOnDiskFull } from '../lifecycle/supervision/start-and-stop.ts'
import { refuseWhenInterrupted } from './interrupted-start.ts'
import type { Readiness } from './readiness.ts'

export interface DiskFullRetrySettings {
  clock: Clock
  logger: Logger
  readiness: Readiness
  interrupt: AbortSignal | undefined
  /** Has what is known answered meanwhile; everything else gets the refusal. */
  answerQuestions: (refusal: Problem) => void
  /** Base URL of the HTTP API, for the log. */
  http: string
}

/**
 * Runs a task of the start again until the disk has room for it; meanwhile the host answers questions from what it knows. Rejects with
 * every other error, and with `StartInterrupted` when the start is to end.
 */
export function createDiskFullRetry(settings: DiskFullRetrySettings): RetryOnDiskFull {
  const { clock, logger, readiness, interrupt, answerQuestions, http } = settings
  return async (task) => {
    let reason: string | undefined
    for (let attempt = 0; ; attempt += 1) {
      try {
        const done = await task()
        if (reason !== undefined) {
          readiness.removeReason(reason)
          logger.info('There is room on the disk again')
        }
        return done
      } catch (error) {
        refuseWhenInterrupted(interrupt)
        if (!isDiskFull(error)) throw error
        if (reason === undefined) {
          reason = storageFault(error instanceof Problem ? error.cause : error) ?? messageOf(error)
          readiness.addReason(reason)
          answerQuestions(new Problem('storage_full', reason))
          logger.error('The start waits for room on the disk; questions are answered meanwhile', {
            http,
            error: reason,
          })
        }
        await pause(clock, diskRetryDelay(attempt), interrupt)
        refuseWhenInterrupted(interrupt)
      }
    }
  }
}

/**
 * Writes `.host.json` for the first time since a person has changed it. As long as it stands there, the next start takes the
 * changes over once more, and over what was changed since: so nothing is before there is room for it. Other refusals are told,
 * and keep nobody waiting.
 */
export async function writeOverEdits(
  snapshots: Pick<SnapshotWriter, 'write'>,
  retryOnDiskFull: RetryOnDiskFull,
): Promise<void> {
  await retryOnDiskFull(() =>
    snapshots.write().catch((error: unknown) => {
      if (isDiskFull(error)) throw error
    }),
  )
}

/** What goes by itself when somebody makes room. Everything else needs a person, and often another start. */
const fullDisk: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

/** Whether it was a full disk that refused, also below another error. */
export function isDiskFull(error: unknown): boolean {
  if (fullDisk.has(systemErrorCode(error))) return true
  return error instanceof Error && error.cause !== undefined && isDiskFull(error.cause)
}
