import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Logger, LogLevel } from '../../base/log/log.ts'
import type { Clock } from '../../base/time/clock.ts'
import { createTokenBucket, type ChargeTokens } from '../../sandbox/flow/token-bucket.ts'
import type { LogEntry } from '../../schema/plugin/plugin.ts'

/**
 * What one plugin may add to the host's log, of each level. journald takes 10,000 lines of a service in 30 s and drops what
 * follows, and Docker keeps some megabytes: without a bound one plugin that logs in a loop pushes out what the host itself says.
 */
export const hostLogLimits = {
  operationsPerSecond: 20,
  operationBurst: 1_000,
  bytesPerSecond: 8 * 1024,
  byteBurst: 1024 * 1024,
}

/** The lines of plugins in the host's log. */
export interface HostLogShare {
  /**
   * Leaves the line out where the plugin has had its share; a warning says so at once, and how many there were in the next one, when it
   * logs again at the latest.
   */
  write(plugin: string, entry: LogEntry): void
  /** The plugin is gone. */
  forget(plugin: string): void
}

/** Milliseconds between two warnings of one plugin. */
const warningInterval = 10_000

/** Of one level. */
interface Share {
  charge: ChargeTokens
  /** By the monotonic clock, in ms. */
  fullUntil: number
}

interface PluginShares {
  readonly levels: Map<LogLevel, Share>
  /** Lines that no warning has told of yet. */
  leftOut: number
  /** When the last warning was, by the monotonic clock, in ms. */
  warnedAt: number
}

export function createHostLogShare(logger: Logger, clock: Clock): HostLogShare {
  const plugins = new Map<string, PluginShares>()

  /** Tells of what was left out, or counts what is. */
  function account(plugin: string, shares: PluginShares, isLeftOut: boolean, now: number): void {
    const { leftOut: suppressed } = shares
    if (!isLeftOut && suppressed === 0) return
    if (now - shares.warnedAt < warningInterval) {
      if (isLeftOut) shares.leftOut += 1
      return
    }
    shares.leftOut = 0
    shares.warnedAt = now
    logger.warn('A plugin logs more than the host’s log takes; its own log has its latest lines', {
      plugin,
      ...(suppressed === 0 ? {} : { suppressed }),
    })
  }

  return {
    write(plugin, entry) {
      const { level, message, fields } = entry
      // What nobody sees pushes nothing out.
      if (logger.prints?.(level) === false) {
        logger[level](message, { plugin, ...fields })
        return
      }
      const shares = getOrInsert(plugins, plugin, () => ({
        levels: new Map<LogLevel, Share>(),
        leftOut: 0,
        warnedAt: Number.NEGATIVE_INFINITY,
      }))
      const share = getOrInsert(shares.levels, level, () => ({
        charge: createTokenBucket(hostLogLimits, clock.monotonic),
        fullUntil: 0,
      }))
      const now = clock.monotonic()
      const isFull = now < share.fullUntil
      account(plugin, shares, isFull, now)
      if (isFull) return
      share.fullUntil = now + share.charge(1, lengthOf(entry)).owed
      logger[level](message, { plugin, ...fields })
    },
    forget: (plugin) => void plugins.delete(plugin),
  }
}

/** Characters of a line, and of its traceback. */
export function lengthOf({ message, fields }: LogEntry): number {
  const traceback = fields?.traceback
  return message.length + (typeof traceback === 'string' ? traceback.length : 0)
}
