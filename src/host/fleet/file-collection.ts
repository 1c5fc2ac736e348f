import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { every } from '../../base/time/every.ts'
import type { Logger } from '../../base/log/log.ts'
import { collectAfter, type FleetFiles } from '../../fleet/files/fleet-files.ts'
import type { HostState } from '../../journal/fold/evolve.ts'
import { logFailure } from './log-failure.ts'

/** Has the files go that no plugin of a fleet names any more. One host does it for all. */
export interface FileCollection {
  begin(): void
  end(): void
}

/** Milliseconds between two looks. What is named meanwhile has been heard of by then, also by a host that lags behind. */
export const collectInterval = 6 * collectAfter

export function createFileCollection(parts: {
  files: Pick<FleetFiles, 'collect'>
  state: () => Pick<HostState, 'plugins'>
  clock: Clock
  logger: Logger
}): FileCollection {
  const { files, state, clock, logger } = parts
  const failed = logFailure(logger, 'Files that no plugin of the fleet names any more could not be removed')
  let timer: ScheduledCall | undefined

  function collect(): void {
    const mine = timer
    files.collect(namedIn(state())).then(
      (count) => {
        if (count > 0) logger.info('Removed files that no plugin of the fleet names any more', { count })
      },
      (error: unknown) => {
        // Another host does it now, or nobody: this one may have no connection any more.
        if (timer === mine) failed(error)
      },
    )
  }

  return {
    begin() {
      timer ??= every(clock, collectInterval, collect)
    },
    end() {
      timer?.cancel()
      timer = undefined
    },
  }
}

/** Hashes of what the plugins have, and of the versions that they can go back to. */
function namedIn({ plugins }: Pick<HostState, 'plugins'>): Set<string> {
  const named = new Set<string>()
  for (const { context } of plugins.values())
    for (const { integrity } of [context, ...context.kept])
      for (const hash of Object.values(integrity)) named.add(hash)
  return named
}
