import type { PendingRestart } from '../../schema/journal/journal-event.ts'
import type { PermissionEntry } from '../../schema/manifest/permissions.ts'
import { fleetDetailOf } from './fleet-words.ts'
import { limitName, limitValue } from './limit-words.ts'
import { permissionsInWords } from './permission-words.ts'
import type { JournalEvent } from './types.ts'
import { waitInWords } from './words.ts'

/** What came with an event of the journal, and why it happened, in plain words. Pure. */

/** Reasons that the journal keeps as names; every other one is a text already. */
const reasonWords: Readonly<Record<string, string>> = {
  config: 'new settings',
  limits: 'new limits',
  reload: 'a reload that was asked for',
  update: 'an update',
  'update failed': 'an update that did not come about',
  rollback: 'the return to the version before',
  uninstall: 'it was uninstalled',
  startup: 'the start of the host',
  shutdown: 'the end of the host',
  interrupted: 'the host had been killed, or had ended in the middle of it',
  asked: 'the host was started with --safe',
  unfinishedStarts: 'too many starts in a row did not get as far as ready',
}

const filesWords: Readonly<Record<string, string>> = {
  folder: 'found in its folder',
  kept: 'from the copy that was kept',
  repository: 'from the repository',
}

const purgedWords: Readonly<Record<string, string>> = { kv: 'stored values', files: 'files' }

/** Why it happened or what came with it, as far as the event says. */
export function detailOf(event: JournalEvent): string {
  const ofFleet = fleetDetailOf(event)
  if (ofFleet !== undefined) return ofFleet
  return ofPlugin(event) ?? generalDetailOf(event)
}

function ofPlugin({ type, data }: JournalEvent): string | undefined {
  const { limit, value, limits, changedFiles, deferred, purged, error, source, version } = data
  switch (type) {
    case 'PluginLimitReached':
      return `${limitName(String(limit))}: ${limitValue(String(limit), Number(value))}`
    case 'PluginLimitsChanged':
      return chosenLimits(limits as Record<string, number>)
    case 'PluginCrashed':
    case 'PluginLoadFailed':
      return `${(error as { message: string }).message}${whatFollows(data)}`
    case 'PluginEnabled':
      return deferred === true ? 'it starts when safe mode ends' : undefined
    case 'PluginLoaded':
      return Array.isArray(changedFiles) && changedFiles.length > 0
        ? `with files that are not as they were installed: ${changedFiles.join(', ')}`
        : undefined
    case 'PluginFilesRestored':
      return `version ${String(version)}, ${filesWords[String(source)] ?? String(source)}`
    case 'PluginUninstalled':
      return Array.isArray(purged) && purged.length > 0
        ? `with its ${purged.map((what) => purgedWords[String(what)] ?? String(what)).join(' and ')}`
        : undefined
    default:
      return undefined
  }
}

function chosenLimits(limits: Record<string, number>): string {
  const chosen = Object.entries(limits)
  if (chosen.length === 0) return 'all as for every plugin'
  return chosen.map(([name, value]) => `${limitName(name)}: ${limitValue(name, value)}`).join(', ')
}

/** What the host does after a failure; nothing where an older event does not say. */
function whatFollows({ crashes, restart }: JournalEvent['data']): string {
  if (restart === undefined) return ''
  const counted = typeof crashes === 'number' && crashes > 1 ? `crash ${crashes} in a row, ` : ''
  if (restart === null) return `; ${counted}it is not started again like this`
  return `; ${counted}it is started again after ${waitInWords((restart as PendingRestart).delay)}`
}

/** A repository may publish other files under one version. */
function wayOf(from: string, version: string): string {
  return from === version ? `to other files of version ${version}` : `from version ${from} to ${version}`
}

function generalDetailOf({ data }: JournalEvent): string {
  const { error, reason, version, from, name, namespace, repository, hostVersion, afterMemoryKill } = data
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  const versions = typeof from === 'string' ? wayOf(from, String(version)) : undefined
  if (typeof reason === 'string') {
    const why = `because of: ${reasonWords[reason] ?? reason}`
    return versions === undefined ? why : `${versions}, ${why}`
  }
  if (typeof version === 'string') {
    const { permissionsAdded: added } = data
    const more = Array.isArray(added) ? `; it may now ${permissionsInWords(added as PermissionEntry[])}` : ''
    return `${versions ?? `version ${version}`}${more}`
  }
  if (typeof hostVersion === 'string') {
    const killed = ', after the system had killed it for want of memory'
    return `version ${hostVersion}${afterMemoryKill === true ? killed : ''}`
  }
  if (typeof namespace === 'string') return `@${namespace} to ${String(repository)}`
  return typeof name === 'string' ? name : ''
}
