import { pino, stdTimeFunctions } from 'pino'
import { cutText, cutTexts } from '../text/cut-text.ts'
import { createLogOutput } from './log-output.ts'
import { prettyLine } from './pretty-line.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
export type LogFields = Record<string, unknown>

/** Writes one structured line a call. Of a field that is an error its message is written. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Whether lines of this level are printed; without it all are. */
  prints?(level: LogLevel): boolean
}

export interface LogSettings {
  level: LogLevel | 'silent'
  format: 'pretty' | 'json'
}

/** A logger whose lines may wait for their reader. */
export interface OutputLogger extends Logger {
  /** Writes what waits: to be called when the process ends. */
  flush(): void
}

/** Logs to standard output; synchronously, so that the last line before an exit is there. */
export function createLogger(settings: LogSettings): OutputLogger {
  const options = {
    level: settings.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const colourful = process.stdout.isTTY
  const output = createLogOutput((lines) =>
    logger.warn('Log lines were lost: standard output could not take them', { lines }),
  )
  const target = pino(
    options,
    settings.format === 'pretty'
      ? { write: (line: string) => output.write(prettyLine(line, colourful)) }
      : output,
  )
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (target.isLevelEnabled(level)) target[level](cutTexts(writtenFields(fields)), cutText(message))
    }
  const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  return { ...logger, prints: (level) => target.isLevelEnabled(level), flush: output.flush }
}

/** The fields as they are written. */
export function writtenFields(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]),
  )
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
