import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'

/** Tells of a failure of something that nobody waits for. */
export function logFailure(logger: Logger, what: string): (error: unknown) => void {
  return (error) => logger.warn(what, { error: messageOf(error) })
}
