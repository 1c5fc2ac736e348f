import { Problem } from '../base/problem.ts'
import type { PluginFact } from '../schema/journal-event.ts'
import type { Config } from '../schema/plugin.ts'
import { accepts, type PluginSnapshot, stateOf } from './evolve.ts'
import { isInstalled } from './snapshot.ts'

/** What a command means in the present state: the facts that it makes true at once, or why it may not be. */

export type Command =
  | { type: 'install'; repository: string | null; version: string | null }
  | { type: 'toggle'; enabled: boolean | undefined }
  | { type: 'configure'; config: Config }
  | { type: 'reload' }
  | { type: 'unload'; reason: string }
  | { type: 'load'; reason: string }
  | { type: 'rollback'; reason: string }
  | { type: 'uninstall'; purged: string[] }

export function requireInstalled(snapshot: PluginSnapshot): void {
  if (!isInstalled(stateOf(snapshot))) {
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

/** Pure. An empty list: it is so already. */
export function decide(snapshot: PluginSnapshot, command: Command): PluginFact[] {
  const { id, enabled } = snapshot.context
  const state = stateOf(snapshot)
  if (command.type === 'install') {
    if (isInstalled(state)) {
      throw new Problem('already_installed', `${id} is installed; to get another version, update it.`)
    }
    const { repository, version } = command
    return possible(snapshot, { type: 'PluginInstallRequested', plugin: id, data: { repository, version } })
  }
  requireInstalled(snapshot)
  switch (command.type) {
    case 'toggle': {
      const wanted = command.enabled ?? !enabled
      if (wanted === enabled) return []
      return possible(snapshot, { type: wanted ? 'PluginEnabled' : 'PluginDisabled', plugin: id, data: {} })
    }
    case 'configure':
      return possible(snapshot, { type: 'PluginConfigured', plugin: id, data: { config: command.config } })
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
      return possible(snapshot, { type: 'PluginLoadRequested', plugin: id, data: { reason: command.reason } })
    case 'rollback':
      if (snapshot.context.previous === null) {
        throw new Problem(
          'invalid_transition',
          `${id} has not been updated, so there is no version to go back to.`,
        )
      }
      return possible(snapshot, { type: 'PluginRolledBack', plugin: id, data: { reason: command.reason } })
    case 'uninstall':
      return possible(snapshot, { type: 'PluginUninstalled', plugin: id, data: { purged: command.purged } })
  }
}

function unloadRequested(snapshot: PluginSnapshot, reason: string): PluginFact[] {
  return possible(snapshot, { type: 'PluginUnloadRequested', plugin: snapshot.context.id, data: { reason } })
}

function possible(snapshot: PluginSnapshot, fact: PluginFact): PluginFact[] {
  if (accepts(snapshot, fact)) return [fact]
  throw new Problem(
    'invalid_transition',
    `${snapshot.context.id} is ${stateOf(snapshot)}; ${fact.type} is not possible from there. Try again when it has settled.`,
  )
}
