import type { Field } from '../../schema/manifest/field.ts'
import type { FleetHost, Placement } from '../../schema/plugin/fleet-host.ts'
import type { Permissions } from '../../schema/manifest/permissions.ts'
import type { LogEntry, Plugin, PluginError, PluginState } from '../../schema/plugin/plugin.ts'

/** What the API answers, as the pages use it. */

export type { Field, FleetHost, LogEntry, Placement, Plugin, PluginError, PluginState }

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A line of the journal. */
export interface JournalEvent {
  seq: number
  id: string
  /** ISO 8601, UTC. */
  at: string
  type: string
  plugin: string | null
  revision: number
  by: string
  data: Record<string, unknown>
  state: string
  /** The host of a fleet that wrote it, and under which epoch it had the plugin; null without a fleet. */
  host: string | null
  epoch: number | null
}

export interface CatalogEntry {
  fullId: string
  name: string
  version: string
  description: string | null
  author: string | null
  tags: string[]
  repository: string
  /** Another repository that the namespace belongs to. */
  namespaceHeldBy: string | null
  installedVersion: string | null
  updateAvailable: boolean
  compatible: boolean
  permissions: Permissions | null
}

export interface Repository {
  name: string
  url: string
  publicKey: string | null
  signed: boolean
  signedAt: string | null
  namespace: string | null
  /** Another repository that it belongs to. */
  namespaceHeldBy: string | null
  plugins: number
  error: string | null
}

/** A sensor or a control. */
export interface Point {
  id: string
  value: unknown
  type?: string
  description?: string
  unit?: string
  range?: string
}

export interface ConfigCheck {
  valid: boolean
  errors: { path: string; message: string }[]
  effective: Record<string, unknown>
}

/** A version that is installed, or was and is kept. */
export interface PluginVersion {
  version: string
  repository: string | null
  current: boolean
  /** Since when it is installed, or when it was replaced; ISO 8601. */
  at: string
  /** Whether its files are there. */
  available: boolean
  /** An update to it did not run. */
  failed?: boolean
}

export interface LimitDescription {
  name: string
  unit: string
  description: string
  /** What a plugin gets for which nothing is set; null: no limit. */
  default: number | null
  min: number
  max: number
}

export interface PluginStateAt {
  id: string
  state: PluginState
  enabled: boolean
  version: string | null
  revision: number
  error: PluginError | null
}

/** A machine as XState takes it; only what the drawing needs. */
export interface MachineDefinition {
  id: string
  description?: string
  initial?: string
  on?: Record<string, TransitionDefinition | TransitionDefinition[]>
  states: Record<string, StateDefinition>
}

export interface StateDefinition {
  description?: string
  on?: Record<string, TransitionDefinition | TransitionDefinition[]>
}

export type TransitionDefinition =
  string | { target?: string; guard?: string; actions?: string | string[]; description?: string }
