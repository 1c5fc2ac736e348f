import { type LogFields, type Logger, type LogLevel, logLevels } from './log.ts'

export interface CountingLogger extends Logger {
  /** Lines so far by level, also those that are not printed. */
  readonly counts: Readonly<Record<LogLevel, number>>
}

/** Passes every line on and counts it. */
export function countLines(logger: Logger): CountingLogger {
  const counts: Record<LogLevel, number> = { debug: 0, info: 0, warn: 0, error: 0 }
  const write =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      counts[level] += 1
      logger[level](message, fields)
    }
  const [debug, info, warn, error] = logLevels
  return {
    ...{ counts, debug: write(debug), info: write(info), warn: write(warn), error: write(error) },
    prints: (level) => logger.prints?.(level) ?? true,
  }
}
