import type { Clock } from '../../../base/time/clock.ts'
import { Problem } from '../../../base/problem.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { isInstalled, pluginIn } from '../../../journal/fold/evolve.ts'
import type { RunningLifecycle } from '../../../lifecycle/create-lifecycle.ts'
import type { LifecycleFacade } from '../../../lifecycle/facade.ts'
import { ElsewhereError } from '../../../lifecycle/ownership.ts'
import { moveWait, storeAway } from './fleet-problems.ts'

export interface FleetInstallingParts {
  lifecycle: Pick<RunningLifecycle, 'install' | 'get'>
  journal: Pick<FleetJournal, 'live' | 'finishBegun'>
  clock: Clock
  /** Whether the store can be heard. */
  maySpeak(): boolean
  /** Resolves when a host has the plugin. */
  holderSoon(id: string): Promise<unknown>
  /** Resolves when something about hosts and leases has changed, after a pause or at the deadline (monotonic clock) at the latest. */
  changeSoon(deadline: number): Promise<void>
}

/** Installs at the host that is asked: nobody has the plugin yet. */
export function createFleetInstalling(parts: FleetInstallingParts): LifecycleFacade['install'] {
  const { lifecycle, journal, clock } = parts
  const installed = (id: string): boolean => isInstalled(pluginIn(journal.live, id))

  /** This host may still give back what it had of an earlier installation, and end what is fetched meanwhile. */
  async function installOnceMore(...given: Parameters<LifecycleFacade['install']>): Promise<void> {
    let deadline: number | undefined
    for (;;) {
      try {
        await lifecycle.install(...given)
        return
      } catch (error) {
        deadline ??= clock.monotonic() + moveWait
        const isGivenBack = error instanceof ElsewhereError && !installed(given[0].fullId)
        if (!isGivenBack || clock.monotonic() >= deadline) throw error
        // What it had ends in its worker, of which nothing is heard before the event loop goes round.
        await parts.changeSoon(deadline)
      }
    }
  }

  return async (request, command) => {
    const id = request.fullId
    if (!parts.maySpeak()) throw storeAway()
    // Another host may have uninstalled it a moment ago.
    if (installed(id)) await journal.finishBegun(id)
    if (installed(id)) {
      throw new Problem('already_installed', `${id} is installed; to get another version, update it.`)
    }
    await installOnceMore(request, command)
    // Whatever comes next is for the host that has it.
    await parts.holderSoon(id).catch(() => undefined)
    // Its files are here already, whoever has it.
    return lifecycle.get(id)
  }
}
