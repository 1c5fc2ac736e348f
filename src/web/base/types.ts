import type { Static } from 'typebox'
import type { ExposuresAnswer, JournalEventAnswer, Point as PointAnswer } from '../../schema/api/api.ts'
import type { Field } from '../../schema/manifest/field.ts'
import type { FleetHost, Placement } from '../../schema/plugin/fleet-host.ts'
import type { LogEntry, Plugin, PluginState } from '../../schema/plugin/plugin.ts'

/** What the API answers, as the pages use it. */

export type {
  CatalogEntry,
  ConfigCheck,
  PluginStateAt,
  PluginVersion,
  Repository,
} from '../../schema/api/api.ts'
export type { LimitDescription } from '../../schema/plugin/plugin-limits.ts'
export type { Field, FleetHost, LogEntry, Placement, Plugin, PluginState }

/** A sensor or a control. */
export type Point = Omit<PointAnswer, 'value'> & { value: unknown }

export type Exposed = Static<typeof ExposuresAnswer>['exposures'][number]

/** A line of the journal. */
export type JournalEvent = Static<typeof JournalEventAnswer>

/** A machine as XState takes it; only what the drawing needs. */
export interface MachineDefinition {
  id: string
  on?: Record<string, TransitionDefinition | TransitionDefinition[]>
  states: Record<string, StateDefinition>
}

interface StateDefinition {
  on?: Record<string, TransitionDefinition | TransitionDefinition[]>
}

export type TransitionDefinition = string | { target?: string }
