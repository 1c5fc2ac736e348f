import { useMemo, useState } from 'preact/hooks'
import { place, setQuery } from '../base/router.ts'
import type { LogEntry, Plugin } from '../base/types.ts'
import { valueText } from '../base/words.ts'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { LineList } from '../parts/lists/line-list.tsx'
import { LogEntryLine } from '../parts/lists/log-entry-line.tsx'
import { PauseButton } from '../parts/lists/pause-button.tsx'
import { fitting, SearchBox, searchedText } from '../parts/lists/search-box.tsx'
import { Select } from '../parts/inputs/select.tsx'
import { useLog } from '../store/log.ts'

const levels = [
  ['debug', 'All levels'],
  ['info', 'Info and above'],
  ['warn', 'Warnings and errors'],
  ['error', 'Errors'],
] as const
type Level = LogEntry['level']
const rankOf = (level: Level): number => levels.findIndex(([name]) => name === level)

export function LogsTab({ plugin }: { plugin: Plugin }) {
  const [paused, setPaused] = useState(false)
  const { query } = place.value
  const [level] = levels.find(([name]) => name === query.get('level')) ?? levels[0]
  const wanted = searchedText()
  const { lines, waiting, remote } = useLog(plugin.id, paused)
  const shown = useMemo(() => {
    const lowest = rankOf(level)
    const ranked = (lines ?? []).filter((line) => rankOf(line.level) >= lowest)
    return fitting(ranked, wanted, ({ message, fields }) => `${message} ${valueText(fields)}`)
  }, [lines, level, wanted])

  function pause(next: boolean): void {
    // What came during the pause is read from the host.
    if (!next) remote.reload()
    setPaused(next)
  }

  return (
    <section class="panel">
      <h2>Log</h2>
      <div class="toolbar">
        <SearchBox label="Search the log" found={lines && shown.length} />
        <Select
          label="Lowest level"
          value={level}
          options={levels}
          onChange={(next) => setQuery({ level: next === levels[0][0] ? '' : next })}
        />
        <PauseButton paused={paused} waiting={waiting} onChange={pause} />
      </div>
      <ReadState remote={remote} what="the log" />
      {lines === undefined || shown.length > 0 ? null : (
        <Empty>{lines.length === 0 ? `${plugin.name} has logged nothing yet.` : 'No line fits.'}</Empty>
      )}
      <LineList
        label="Lines of the log, newest first"
        items={shown}
        line={(line) => <LogEntryLine entry={line} />}
      />
    </section>
  )
}
