import { Problem } from '../../../base/problem.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { isInstalled, pluginIn } from '../../../journal/fold/evolve.ts'
import type { RunningLifecycle } from '../../../lifecycle/create-lifecycle.ts'
import type { LifecycleFacade } from '../../../lifecycle/facade.ts'
import { ElsewhereError } from '../../../lifecycle/ownership.ts'
import { storeAway } from './fleet-problems.ts'
import type { WhileMoving } from './while-moving.ts'

export interface FleetInstallingParts {
  lifecycle: Pick<RunningLifecycle, 'install' | 'get'>
  journal: Pick<FleetJournal, 'live' | 'finishBegun'>
  /** Whether the store can be heard. */
  maySpeak(): boolean
  /** Resolves when a host has the plugin. */
  holderSoon(id: string): Promise<unknown>
  whileMoving: WhileMoving
}

/** Installs at the host that is asked: nobody has the plugin yet. */
export function createFleetInstalling(parts: FleetInstallingParts): LifecycleFacade['install'] {
  const { lifecycle, journal } = parts
  const installed = (id: string): boolean => isInstalled(pluginIn(journal.live, id))
  return async (request, command) => {
    const id = request.fullId
    if (!parts.maySpeak()) throw storeAway()
    // Another host may have uninstalled it a moment ago.
    if (installed(id)) await journal.finishBegun(id)
    if (installed(id)) {
      throw new Problem('already_installed', `${id} is installed; to get another version, update it.`)
    }
    try {
      await parts.whileMoving(
        id,
        () => lifecycle.install(request, command),
        // This host still gives back what it had of an earlier installation, and that has ended this one.
        (error) => error instanceof ElsewhereError && !installed(id),
      )
      // Whatever comes next is for the host that has it.
      await parts.holderSoon(id).catch(() => undefined)
      // Its files are here already, whoever has it.
      return lifecycle.get(id)
    } catch (error) {
      // As a name that nobody has it would be looked for at the other hosts, and installed once more.
      throw error instanceof Problem && error.code === 'plugin_not_installed' ? uninstalled(id, error) : error
    }
  }
}

function uninstalled(id: string, cause: Problem): Problem {
  const message = `${id} was installed, and uninstalled by somebody else before that was answered.`
  return new Problem('invalid_transition', message, { cause })
}
