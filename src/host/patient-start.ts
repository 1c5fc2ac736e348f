import type { Clock } from '../base/time/clock.ts'
import { pause } from '../base/time/wait.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf, Problem, systemErrorCode } from '../base/problem.ts'
import { diskRetryDelay } from '../base/files/disk-retry-delays.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import type { SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import type { Patiently } from '../lifecycle/supervision/start-and-stop.ts'
import { refuseWhenInterrupted } from './interrupted-start.ts'
import type { Readiness } from './readiness.ts'

export interface PatientStartSettings {
  clock: Clock
  logger: Logger
  readiness: Readiness
  interrupt: AbortSignal | undefined
  /** Has what is known answered meanwhile; everything else gets the refusal. */
  answerQuestions: (refusal: Problem) => void
  /** Base URL of the HTTP API, for the log. */
  http: string
}

/** A full disk is no reason to go away: what is known can be asked for, and the start goes on when there is room. */
export function createPatiently(settings: PatientStartSettings): Patiently {
  const { clock, logger, readiness, interrupt, answerQuestions, http } = settings
  return async (task) => {
    let reason: string | undefined
    for (let attempt = 0; ; attempt += 1) {
      try {
        const done = await task()
        if (reason !== undefined) {
          readiness.settle(reason)
          logger.info('There is room on the disk again')
        }
        return done
      } catch (error) {
        refuseWhenInterrupted(interrupt)
        if (!isDiskFull(error)) throw error
        if (reason === undefined) {
          reason = storageFault(error instanceof Problem ? error.cause : error) ?? messageOf(error)
          readiness.hinder(reason)
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
  patiently: Patiently,
): Promise<void> {
  await patiently(() =>
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
