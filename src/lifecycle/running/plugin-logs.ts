import { getOrInsert } from '../../base/get-or-insert.ts'
import { logLevels } from '../../base/log/log.ts'
import type { LogEntry } from '../../schema/plugin/plugin.ts'
import { type HostLogShare, lengthOf } from './host-log-share.ts'

/** How many lines of each plugin are kept in memory: of warnings and errors, and of all others. */
const keptLines = 1_000
/** Characters of those, each; a plugin may write long lines. In memory they take two bytes: one that was cut has an ellipsis. */
const keptCharacters = 1024 * 1024

/** The latest lines of every plugin's log, kept over reloads so that a failure can be read afterwards. */
export interface PluginLogs {
  /** Keeps the line, and passes it on to the host's log. */
  add(plugin: string, entry: LogEntry): void
  /** Oldest first; the last `limit` lines of at least this level. */
  read(plugin: string, filter: { limit?: number; level?: LogEntry['level'] }): LogEntry[]
  forget(plugin: string): void
}

interface Line {
  /** Counts the lines of all plugins. */
  number: number
  entry: LogEntry
}

/** The latest lines. */
interface Ring {
  readonly lines: Line[]
  add(line: Line): void
}

export function createPluginLogs(hostLog: HostLogShare): PluginLogs {
  // Apart, so that a plugin which says a lot does not push out what went wrong with it.
  const plugins = new Map<string, { serious: Ring; chatter: Ring }>()
  let lastNumber = 0
  return {
    add(plugin, entry) {
      const rings = getOrInsert(plugins, plugin, () => ({ serious: createRing(), chatter: createRing() }))
      lastNumber += 1
      const ring = isAtLeast(entry, 'warn') ? rings.serious : rings.chatter
      ring.add({ number: lastNumber, entry })
      hostLog.write(plugin, entry)
    },
    read(plugin, { limit = keptLines, level = 'debug' }) {
      const rings = plugins.get(plugin)
      if (rings === undefined || limit === 0) return []
      return [...rings.serious.lines, ...rings.chatter.lines]
        .filter(({ entry }) => isAtLeast(entry, level))
        .sort((a, b) => a.number - b.number)
        .slice(-limit)
        .map(({ entry }) => entry)
    },
    forget(plugin) {
      plugins.delete(plugin)
      hostLog.forget(plugin)
    },
  }
}

function createRing(): Ring {
  const lines: Line[] = []
  let characters = 0
  return {
    lines,
    add(line) {
      lines.push(line)
      characters += lengthOf(line.entry)
      // In blocks, because shifting by one on every line of a chatty plugin costs more than a little memory.
      if (lines.length <= 2 * keptLines && characters <= keptCharacters) return
      while (lines.length > keptLines || (characters > keptCharacters && lines.length > 1)) {
        const oldest = lines.shift()
        if (oldest !== undefined) characters -= lengthOf(oldest.entry)
      }
    },
  }
}

function isAtLeast(entry: LogEntry, level: LogEntry['level']): boolean {
  return logLevels.indexOf(entry.level) >= logLevels.indexOf(level)
}
