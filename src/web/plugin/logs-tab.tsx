import { useMemo, useState } from 'preact/hooks'
import type { LogEntry, Plugin } from '../base/types.ts'
import { momentOf, valueText } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { LineList } from '../parts/line-list.tsx'
import { PauseButton } from '../parts/pause-button.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import type { LogLine } from '../store/joined-lines.ts'
import { useLog } from '../store/log.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

export function LogsTab({ plugin }: { plugin: Plugin }) {
  const [paused, setPaused] = useState(false)
  const [level, setLevel] = useState<Level>('debug')
  const [wanted, setWanted] = useState('')
  const { lines, waiting, remote } = useLog(plugin.id, paused)
  const shown = useMemo(
    () => fitting(lines ?? [], level, wanted.trim().toLowerCase()),
    [lines, level, wanted],
  )

  function pause(next: boolean): void {
    // What came during the pause is read from the host.
    if (!next) remote.reload()
    setPaused(next)
  }

  return (
    <section class="panel">
      <h2>Log</h2>
      <div class="toolbar">
        <SearchBox label="Search the log" value={wanted} onInput={setWanted} />
        <select
          aria-label="Lowest level"
          value={level}
          onChange={({ currentTarget }) =>
            setLevel(levels.find((name) => name === currentTarget.value) ?? 'debug')
          }
        >
          <option value="debug">All levels</option>
          <option value="info">Info and above</option>
          <option value="warn">Warnings and errors</option>
          <option value="error">Errors</option>
        </select>
        <PauseButton paused={paused} waiting={waiting} onChange={pause} />
      </div>
      <ReadState remote={remote} what="the log" />
      {lines === undefined || shown.length > 0 ? null : (
        <Empty>{lines.length === 0 ? `${plugin.name} has logged nothing yet.` : 'No line fits.'}</Empty>
      )}
      <LineList
        label="Lines of the log, newest first"
        items={shown}
        keyOf={({ key }) => key}
        line={(line) => <Line line={line} />}
      />
    </section>
  )
}

function fitting(lines: readonly LogLine[], level: Level, text: string): readonly LogLine[] {
  const lowest = levels.indexOf(level)
  if (lowest === 0 && text === '') return lines
  return lines.filter(
    (line) =>
      levels.indexOf(line.level) >= lowest &&
      (text === '' || `${line.message} ${valueText(line.fields)}`.toLowerCase().includes(text)),
  )
}

function Line({ line: { at, level, message, fields } }: { line: LogEntry }) {
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
