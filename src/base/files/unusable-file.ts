import { dirname } from 'node:path'
import { messageOf, systemErrorCode } from '../problem.ts'
import { chownCommand } from './chown-command.ts'

/** A file of the data directory that this process cannot open; the message is one line that says what to do. */
export class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError'

  constructor(path: string, error: unknown) {
    const code = systemErrorCode(error)
    // It is seldom the only one: what root has started, or copied, is root's.
    const advice =
      code === 'EACCES'
        ? `. Where it belongs to another user, give that one's files to the user of the host: ${chownCommand(dirname(path))}`
        : '; correct that, or its permissions.'
    super(
      `${path} cannot be used (${code ?? messageOf(error)}): it must be a file that the host may read and write${advice}`,
      { cause: error },
    )
  }
}
