import Type, { type Static } from 'typebox'
import { createParser, type Parsed } from '../parsing/parser.ts'
import { LogEntry } from '../plugin/plugin.ts'
import { Text, textLimits } from '../parsing/text.ts'
import { PluginId, Shown } from './worker-fields.ts'

/** A line of a plugin's log, as its worker makes it. */
export const LogLine = Type.Object(
  {
    at: Text(textLimits.word),
    level: LogEntry.properties.level,
    message: Shown,
    /** `caller`: the plugin that has had it written through this one's instance. */
    fields: Type.Optional(
      Type.Object(
        { traceback: Type.Optional(Shown), caller: Type.Optional(PluginId) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type LogLine = Static<typeof LogLine>

const parse = createParser(LogLine)

/** Reads one as it comes from a worker: JSON. */
export function parseLogLine(bytes: Uint8Array): Parsed<LogLine> {
  try {
    return parse(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()))
  } catch {
    return { ok: false, errors: [{ path: '', message: 'is not JSON' }] }
  }
}
