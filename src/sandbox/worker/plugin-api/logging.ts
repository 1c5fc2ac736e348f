import type { LogEntry } from '../../../schema/plugin/plugin.ts'
import type { HostFunction, LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { maskValue } from '../../../base/log/redaction.ts'
import { isSecretFieldName } from '../../../base/log/secret-names.ts'
import { isTable, optionalText, withoutSelf } from '../lua/arguments.ts'
import { toUnicode } from '../lua/text/bytes.ts'

/** `plugin:log`, `plugin:logSafe` and `Logger` (plugin API, section 3). */
export function installLogging(context: PluginContext): void {
  const { runtime, log, foreignCallers } = context
  const text = (value: LuaValue): string => runtime.toText(value)

  context.addMethod('log', (level, message) => {
    log.write(levelOf(level), text(message), foreignCallers.current)
  })

  context.addMethod('logSafe', (level, message, fields, redact) => {
    const parts = [text(message)]
    const budget = context.byteBudget()
    const counted = (value: LuaValue): string => {
      const shown = text(value)
      budget.spend(shown.length)
      return shown
    }
    const pairs = isTable(fields)
      ? fields.entries().map(([key, value]) => [counted(key), counted(value)] as const)
      : []
    for (const [key, value] of pairs.sort(([a], [b]) => (a < b ? -1 : 1))) {
      parts.push(`${key}=${redact !== false && isSecretFieldName(key) ? maskValue(value) : value}`)
    }
    log.write(levelOf(level), parts.join(' '), foreignCallers.current)
  })

  const { Logger: logger } = context.tables
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    const full = `Logger:${level}`
    const write: HostFunction = (...args) => {
      log.write(level, text(withoutSelf(logger, args)[0]))
    }
    context.implement(full, () => runtime.wrap(full, write))
  }
}

function levelOf(value: LuaValue): LogEntry['level'] {
  const level = value instanceof Uint8Array ? toUnicode(value).toLowerCase() : optionalText(value)
  return level === 'debug' || level === 'warn' || level === 'error' ? level : 'info'
}
