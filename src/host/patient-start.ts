import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import type { Patiently } from '../lifecycle/supervision/patiently.ts'
import { refuseWhenInterrupted } from './interrupted-start.ts'
import type { Readiness } from './readiness.ts'
import { whenThereIsRoom } from './room-on-disk.ts'

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
    const done = await whenThereIsRoom(task, {
      clock,
      interrupt,
      full(error) {
        if (reason !== undefined) return
        reason = storageFault(error instanceof Problem ? error.cause : error) ?? messageOf(error)
        readiness.hinder(reason)
        answerQuestions(new Problem('storage_full', reason))
        logger.error('The start waits for room on the disk; questions are answered meanwhile', {
          http,
          error: reason,
        })
      },
    }).catch((error: unknown) => {
      refuseWhenInterrupted(interrupt)
      throw error
    })
    if (reason !== undefined) {
      readiness.settle(reason)
      logger.info('There is room on the disk again')
    }
    return done
  }
}
