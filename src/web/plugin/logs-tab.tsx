import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { LogEntry, Plugin } from '../base/types.ts'
import { timeOf, valueText } from '../base/words.ts'
import { Empty, Failure } from '../parts/feedback.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { useRemote } from '../store/remote.ts'

/** Most lines that are kept, and most that are shown at a time: the newest. */
const keptLines = 1_000
const shownLines = 100

const levels = ['debug', 'info', 'warn', 'error'] as const

export function LogsTab({ plugin }: { plugin: Plugin }) {
  const { id } = plugin
  const remote = useRemote<{ logs: LogEntry[] }>(pluginApi(id, `/logs?limit=${keptLines}`))
  const [lines, setLines] = useState<readonly (LogEntry & { key: number })[]>([])
  const [paused, setPaused] = useState(false)
  const [level, setLevel] = useState<(typeof levels)[number]>('debug')
  const [wanted, setWanted] = useState('')
  useEffect(() => {
    if (remote.value !== undefined)
      setLines(remote.value.logs.map((line, index) => ({ ...line, key: index - keptLines })))
  }, [remote.value])
  useEffect(() => {
    if (paused) return undefined
    let key = performance.now()
    return onAnnouncements((announcements) => {
      const own = announcements.flatMap((announcement) =>
        announcement.kind === 'log' && announcement.plugin === id ? [announcement.entry] : [],
      )
      if (own.length === 0) return
      setLines((before) =>
        [...before, ...own.map((line) => ({ ...line, key: (key += 1) }))].slice(-keptLines),
      )
    })
  }, [id, paused])
  const text = wanted.trim().toLowerCase()
  const shown = lines
    .filter((line) => levels.indexOf(line.level) >= levels.indexOf(level))
    .filter((line) => text === '' || `${line.message} ${valueText(line.fields)}`.toLowerCase().includes(text))
    .slice(-shownLines)
    .reverse()

  function resume(): void {
    if (paused) remote.reload()
    setPaused(!paused)
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
        <button type="button" aria-pressed={paused} onClick={resume}>
          {paused ? 'Go on' : 'Pause'}
        </button>
      </div>
      {remote.error === '' ? null : <Failure text={remote.error} onRetry={remote.reload} />}
      {shown.length === 0 ? <Empty>No line fits.</Empty> : null}
      <ul class="lines" aria-label="Lines of the log, newest first">
        {shown.map((line) => (
          <Line key={line.key} line={line} />
        ))}
      </ul>
    </section>
  )
}

/** By itself, so that a new line does not draw the others again. */
function Line({ line: { at, level, message, fields } }: { line: LogEntry }) {
  return (
    <li class={`line level-${level}`}>
      <time dateTime={at}>{timeOf(at)}</time>
      <strong>{level}</strong>
      <span class="message">
        {message}
        {fields === undefined ? null : <code> {valueText(fields)}</code>}
      </span>
    </li>
  )
}
