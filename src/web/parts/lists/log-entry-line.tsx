import type { LogEntry } from '../../base/types.ts'
import { momentOf, valueText } from '../../base/words.ts'
import { breakable } from '../breakable.tsx'

interface LogEntryLineProps {
  entry: Omit<LogEntry, 'level'> & { level: string }
}

/** What a plugin has logged. */
export function LogEntryLine({ entry: { at, level, message, fields } }: LogEntryLineProps) {
  return (
    <div class={`line level-${level}`}>
      <time dateTime={at}>{momentOf(at)}</time>
      <strong>{level}</strong>
      <span class="message">
        {breakable(message)}
        {fields === undefined ? null : <code> {breakable(valueText(fields))}</code>}
      </span>
    </div>
  )
}
