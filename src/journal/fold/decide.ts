import { type KeptRelease, keptRelease } from '../../../machines/plugin-lifecycle.ts'
import { Problem } from '../../base/problem.ts'
import type { Placement } from '../../schema/plugin/fleet-host.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import type { ChosenLimits } from '../../schema/plugin/plugin-limits.ts'
import { accepts, isInstalled, type PluginSnapshot } from './evolve.ts'

/** What a command means in the present state: the facts that it makes true at once, or why it may not be. */

export type Command =
  | { type: 'install'; repository: string | null; version: string | null }
  /** `deferred`: a plugin that is enabled is not loaded yet. */
  | { type: 'toggle'; enabled: boolean | undefined; deferred?: boolean }
  | { type: 'configure'; config: Config }
  | { type: 'limit'; limits: ChosenLimits }
  | { type: 'changeHookSecret'; hookSecret: string }
  | { type: 'place'; placement: Placement }
  | { type: 'reload' }
  | { type: 'unload'; reason: string }
  /** `automatic`: nobody asked for it. */
  | { type: 'load'; reason: string; automatic?: boolean }
  /** `formerSecrets`: see the facts. */
  | { type: 'rollback'; reason: string; version?: string; automatic?: true; formerSecrets?: string[] }
  | { type: 'uninstall'; purged: string[]; formerSecrets?: string[] }

export function requireInstalled(snapshot: PluginSnapshot): void {
  if (!isInstalled(snapshot)) {
    throw new Problem('plugin_not_installed', `${snapshot.context.id} is not installed; install it first.`)
  }
}

/** Throws `revision_conflict` when the plugin is no longer at the revision that the caller has seen. */
export function requireRevision(snapshot: PluginSnapshot, expected: number | undefined): void {
  const { id, revision } = snapshot.context
  if (expected !== undefined && expected !== revision) {
    throw new Problem(
      'revision_conflict',
      `${id} is at revision ${revision}, not ${expected}: read it again and repeat the change.`,
    )
  }
}

/**
 * What a rollback returns to: the latest of this version, or without one the latest that is not known not to run.
 * Throws `invalid_transition` when there is none.
 */
export function releaseToReturnTo(snapshot: PluginSnapshot, version: string | undefined): KeptRelease {
  const { id, kept } = snapshot.context
  const release =
    version === undefined ? kept.find(({ failed }) => failed !== true) : keptRelease({ kept }, version)
  if (release !== undefined) return release
  const versions = [...new Set(kept.map((release) => release.version))].join(', ')
  throw new Problem(
    'invalid_transition',
    versions === ''
      ? `${id} has not been updated, so there is no version to go back to.`
      : version === undefined
        ? `No version of ${id} that is known to run is kept on this host; name one to go to it all the same: ${versions}.`
        : `Version ${version} of ${id} is not kept on this host; ${versions} can be returned to.`,
  )
}

/** Pure. An empty list: it is so already. */
export function decide(snapshot: PluginSnapshot, command: Command): PluginFact[] {
  const { id, enabled } = snapshot.context
  const state = snapshot.value
  if (command.type === 'install') {
    if (isInstalled(snapshot)) {
      throw new Problem('already_installed', `${id} is installed; to get another version, update it.`)
    }
    if (state === 'installing') {
      const message = `${id} is being installed already; wait for what comes of that.`
      throw new Problem('invalid_transition', message)
    }
    const { repository, version } = command
    return possible(snapshot, { type: 'PluginInstallRequested', plugin: id, data: { repository, version } })
  }
  requireInstalled(snapshot)
  switch (command.type) {
    case 'toggle': {
      const wanted = command.enabled ?? !enabled
      if (wanted === enabled) return []
      if (!wanted) return possible(snapshot, { type: 'PluginDisabled', plugin: id, data: {} })
      const data = command.deferred === true ? { deferred: true } : {}
      return possible(snapshot, { type: 'PluginEnabled', plugin: id, data })
    }
    case 'configure':
      return possible(snapshot, { type: 'PluginConfigured', plugin: id, data: { config: command.config } })
    case 'limit':
      return possible(snapshot, { type: 'PluginLimitsChanged', plugin: id, data: { limits: command.limits } })
    case 'place':
      return possible(snapshot, { type: 'PluginPlaced', plugin: id, data: { placement: command.placement } })
    case 'changeHookSecret': {
      const { hookSecret } = command
      return possible(snapshot, { type: 'PluginHookSecretChanged', plugin: id, data: { hookSecret } })
    }
    case 'reload':
      if (!enabled) {
        throw new Problem(
          'invalid_transition',
          `${id} is disabled, so there is nothing to reload; enable it instead.`,
        )
      }
      return state === 'running' ? unloadRequested(snapshot, 'reload') : []
    case 'unload':
      return state === 'running' ? unloadRequested(snapshot, command.reason) : []
    case 'load':
      return possible(snapshot, {
        type: 'PluginLoadRequested',
        plugin: id,
        data: { reason: command.reason, ...(command.automatic === true ? { automatic: true } : {}) },
      })
    case 'rollback': {
      const { type: _type, ...data } = command
      const { version } = releaseToReturnTo(snapshot, data.version)
      const versions = { version, from: snapshot.context.version }
      return possible(snapshot, { type: 'PluginRolledBack', plugin: id, data: { ...data, ...versions } })
    }
    case 'uninstall': {
      const { type: _type, ...data } = command
      return possible(snapshot, { type: 'PluginUninstalled', plugin: id, data })
    }
  }
}

function unloadRequested(snapshot: PluginSnapshot, reason: string): PluginFact[] {
  return possible(snapshot, { type: 'PluginUnloadRequested', plugin: snapshot.context.id, data: { reason } })
}

function possible(snapshot: PluginSnapshot, fact: PluginFact): PluginFact[] {
  if (accepts(snapshot, fact)) return [fact]
  throw new Problem(
    'invalid_transition',
    `${snapshot.context.id} is ${snapshot.value}; ${fact.type} is not possible from there. Try again when it has settled.`,
  )
}
