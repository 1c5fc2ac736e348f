import type { FleetHost, Placement } from '../schema/plugin/fleet-host.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import type { CommandContext, Lifecycle } from './lifecycle.ts'

/** What whoever answers for all plugins needs: those of this host, or of every host of a fleet. */

/** What only the host knows that runs the plugin. All else is in the journal, which every host has. */
type AskedElsewhere =
  | 'list'
  | 'get'
  | 'connections'
  | 'logs'
  | 'objects'
  | 'sensors'
  | 'controls'
  | 'controlType'
  | 'exposures'
  | 'hooks'
  | 'findHook'
  | 'checkConfig'

/** A `Lifecycle` some of whose answers may have to be fetched from another host. */
export type LifecycleFacade = Omit<Lifecycle, AskedElsewhere> & {
  [Question in AskedElsewhere]: (
    ...given: Parameters<Lifecycle[Question]>
  ) => ReturnType<Lifecycle[Question]> | Promise<ReturnType<Lifecycle[Question]>>
}

/** The hosts that work as one. Everything throws `Problem`s. */
export interface Fleet {
  /** Those that live. */
  hosts(): FleetHost[]
  /** Gives its plugins to the others; resolves when it is empty. Throws `host_unknown`, `no_other_host`. */
  drain(id: string, context: CommandContext): Promise<FleetHost>
  /** Throws `host_unknown`. */
  endDrain(id: string, context: CommandContext): Promise<FleetHost>
  /** Replaces where a plugin may run. */
  place(id: string, placement: Placement, context: CommandContext): Promise<Plugin>
}
