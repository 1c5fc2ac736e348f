import { join } from 'node:path'
import Type from 'typebox'
import type { Clock, ScheduledCall } from '../../../base/time/clock.ts'
import { type FileSystem, writeFileAtomically } from '../../../base/files/file-system.ts'
import type { Logger } from '../../../base/log/log.ts'
import { privateFileMode } from '../../../base/files/private-files.ts'
import { createParser } from '../../../schema/parsing/parser.ts'
import { logFailure } from '../log-failure.ts'

/**
 * Counts the runs of this host in its fleet that did not last: a plugin that takes its host down goes to the next one, and
 * comes back when this one has been started again. What the journal of a single host says of its starts is of this
 * directory alone, so it is kept there.
 */
export interface ShortRuns {
  /** A run begins. Answers how many before it, in a row, ended soon and not in order. */
  begin(): Promise<number>
  /** It ends in order. */
  end(): Promise<void>
}

/** In the data directory. */
export const shortRunsFile = '.fleet-runs'

/** Milliseconds after which a run has lasted: what a host takes over is loaded by then. */
export const lastingRun = 30_000

const parseCount = createParser(Type.Object({ short: Type.Integer({ minimum: 0 }) }))

export function createShortRuns(settings: {
  files: FileSystem
  directory: string
  clock: Clock
  logger: Logger
}): ShortRuns {
  const { files, directory, clock, logger } = settings
  const path = join(directory, shortRunsFile)
  const failed = logFailure(logger, 'It could not be noted how long this run has lasted')
  let lasting: ScheduledCall | undefined
  let writing: Promise<void> = Promise.resolve()

  /** What cannot be written is a run that counts for the wrong one, and no reason to end it. */
  function note(short: number): Promise<void> {
    const content = JSON.stringify({ short })
    writing = writing.then(() => writeFileAtomically(files, path, content, privateFileMode)).catch(failed)
    return writing
  }

  async function noted(): Promise<number> {
    try {
      const parsed = parseCount(JSON.parse(await files.readFile(path, 'utf8')))
      return parsed.ok ? parsed.value.short : 0
    } catch {
      return 0
    }
  }

  return {
    async begin() {
      const before = await noted()
      await note(before + 1)
      lasting = clock.schedule(lastingRun, () => void note(0))
      return before
    },
    async end() {
      if (lasting === undefined) return
      lasting.cancel()
      await note(0)
    },
  }
}
