import { messageOf } from '../../base/problem.ts'
import type { LogEntry } from '../../schema/plugin/plugin.ts'
import type { LogLine } from '../../schema/worker/log-line.ts'
import type { FrameWriter } from '../../schema/worker/message-frames.ts'
import { LuaError } from './lua/lua-value.ts'
import type { Redactor } from '../../base/log/redaction.ts'

/** Writes the plugin's log; every line passes the redactor. */
export interface PluginLog {
  /** `caller`: another plugin that has it written, by its full id. */
  write(level: LogEntry['level'], message: string, caller?: string): void
  /**
   * Tells that an entry into Lua failed, with the traceback. `what` is what was called, `caller` the other plugin whose
   * function it is.
   */
  failure(what: string, error: unknown, caller?: string): void
  /** Writes a warning, once for each key. */
  warnOnce(key: string, message: () => string, caller?: string): void
}

/** Warnings that are written once: their keys may have names that come from outside. */
const mostWarnings = 100

/** `explain` adds to the message of a failure what helps its author. */
export function createPluginLog(
  send: (...frame: Parameters<FrameWriter['write']>) => void,
  redactor: Redactor,
  explain: (message: string) => string,
): PluginLog {
  function add(level: LogEntry['level'], message: string, fields: NonNullable<LogLine['fields']>): void {
    const entry: LogLine = {
      at: new Date().toISOString(),
      level,
      message: redactor.redactMessage(message),
      ...(Object.keys(fields).length === 0 ? {} : { fields }),
    }
    send('log', '', JSON.stringify(entry))
  }
  const warned = new Set<string>()
  const write: PluginLog['write'] = (level, message, caller) =>
    add(level, message, caller === undefined ? {} : { caller })
  return {
    write,
    warnOnce(key, message, caller) {
      if (warned.size >= mostWarnings || warned.has(key)) return
      warned.add(key)
      write('warn', message(), caller)
    },
    failure(what, error, caller) {
      const { message, traceback } = failureOf(error)
      const fields = {
        ...(traceback === '' ? {} : { traceback: redactor.redactMessage(traceback) }),
        ...(caller === undefined ? {} : { caller }),
      }
      add('error', `${what}: ${explain(message)}`, fields)
    },
  }
}

/** The message of anything thrown, and the Lua traceback if there is one. */
export function failureOf(error: unknown): { message: string; traceback: string } {
  if (error instanceof LuaError) return { message: error.message, traceback: error.traceback }
  return { message: messageOf(error), traceback: '' }
}
