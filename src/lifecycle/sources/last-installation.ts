import { pluginIn } from '../../journal/fold/evolve.ts'
import type { LifecycleContext } from '../context.ts'

/** What was installed before the plugin was uninstalled, if that was the last that happened to it. */
export function lastInstallation({ journal }: LifecycleContext, id: string) {
  const last = journal.last(id)
  return last?.type === 'PluginUninstalled' ? pluginIn(journal.stateAt(last.seq - 1), id).context : undefined
}

/**
 * The repository of a plugin of this name that was uninstalled without what it had stored, when it is another one than this:
 * the next one of the name reads that. Else null.
 */
export function storedByOther(context: LifecycleContext, id: string, repository: string): string | null {
  const last = context.journal.last(id)
  if (last?.type !== 'PluginUninstalled' || last.data.purged.includes('kv')) return null
  const before = lastInstallation(context, id)?.repository ?? repository
  return before === repository ? null : before
}
