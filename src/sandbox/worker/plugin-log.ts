import type { LogEntry } from '../../schema/plugin.ts'
import type { Operation } from '../../schema/worker-protocol.ts'
import { LuaError } from './lua/lua-value.ts'
import type { Redactor } from '../../base/redaction.ts'

/** Characters of one log line; what is longer is cut. */
export const logLineLimit = 16_384
/** Characters in which secrets are looked for; more than are shown, so that none is cut in half and missed. */
const searchedLimit = 2 * logLineLimit
/** Characters of a traceback. */
const tracebackLimit = 4_096

/** Writes the plugin's log; every line passes the redactor. */
export interface PluginLog {
  write(level: LogEntry['level'], message: string): void
  /** Tells that an entry into Lua failed, with the traceback. `what` is what was called. */
  failure(what: string, error: unknown): void
}

export function createPluginLog(send: (operation: Operation) => void, redactor: Redactor): PluginLog {
  function add(level: LogEntry['level'], message: string, fields?: Record<string, unknown>): void {
    const entry: LogEntry = {
      at: new Date().toISOString(),
      level,
      message: cut(redactor.redact(message.slice(0, searchedLimit)), logLineLimit),
      ...(fields === undefined ? {} : { fields }),
    }
    send({ kind: 'log', entry })
  }
  return {
    write: (level, message) => add(level, message),
    failure(what, error) {
      const { message, traceback } = failureOf(error)
      const fields =
        traceback === '' ? undefined : { traceback: cut(redactor.redact(traceback), tracebackLimit) }
      add('error', `${what}: ${message}`, fields)
    },
  }
}

/** The message of anything thrown, and the Lua traceback if there is one. */
export function failureOf(error: unknown): { message: string; traceback: string } {
  if (error instanceof LuaError) return { message: error.message, traceback: error.traceback }
  return { message: error instanceof Error ? error.message : String(error), traceback: '' }
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (cut)`
}
