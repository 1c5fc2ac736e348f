import { logLevels } from '../base/log.ts'
import type { LogEntry } from '../schema/plugin.ts'

/** How many lines of each plugin are kept in memory. */
const keptLines = 1_000

/** The latest lines of every plugin's log, kept over reloads so that a failure can be read afterwards. */
export interface PluginLogs {
  add(plugin: string, entry: LogEntry): void
  /** Oldest first; the last `limit` lines of at least this level. */
  read(plugin: string, filter: { limit?: number; level?: LogEntry['level'] }): LogEntry[]
  forget(plugin: string): void
}

export function createPluginLogs(): PluginLogs {
  const lines = new Map<string, LogEntry[]>()
  return {
    add(plugin, entry) {
      const kept = lines.get(plugin) ?? []
      kept.push(entry)
      // In blocks, because shifting by one on every line of a chatty plugin costs more than a little memory.
      if (kept.length > 2 * keptLines) kept.splice(0, kept.length - keptLines)
      lines.set(plugin, kept)
    },
    read(plugin, { limit = keptLines, level = 'debug' }) {
      const lowest = logLevels.indexOf(level)
      const kept = (lines.get(plugin) ?? []).slice(-keptLines)
      const matching = kept.filter((entry) => logLevels.indexOf(entry.level) >= lowest)
      return limit === 0 ? [] : matching.slice(-limit)
    },
    forget: (plugin) => void lines.delete(plugin),
  }
}
