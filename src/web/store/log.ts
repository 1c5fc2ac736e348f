import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import { connections, onAnnouncements } from '../base/stream.ts'
import type { LogEntry } from '../base/types.ts'
import { mergedLogLines, type LogLine } from './merged-log-lines.ts'
import { useRemote } from './remote.ts'

/** Most lines of a log that are kept in the page: the newest. */
const keptLines = 1_000

/** The log of a plugin, oldest line first: what the host has kept, and what comes; the same lines while `paused`. */
export function useLog(plugin: string, paused: boolean) {
  const remote = useRemote<{ logs: LogEntry[] }>(pluginApi(plugin, `/logs?limit=${keptLines}`))
  // Undefined until some have been read, or have come.
  const [lines, setLines] = useState<readonly LogLine[]>()
  const [waiting, setWaiting] = useState(0)
  useEffect(() => {
    const read = remote.value?.logs
    if (read === undefined) return
    setLines((before) => {
      // After a break it is read again.
      if (paused && before !== undefined) return before
      return mergedLogLines(read, before ?? [], connections.peek())
    })
  }, [remote.value])
  useEffect(() => {
    setWaiting(0)
    let key = performance.now()
    return onAnnouncements({ kinds: ['log'], plugin }, (announcements) => {
      if (paused) setWaiting((before) => before + announcements.length)
      else
        setLines((before = []) =>
          [
            ...before,
            ...announcements.map(({ entry }) => ({
              ...entry,
              key: (key += 1),
              connection: connections.peek(),
            })),
          ].slice(-keptLines),
        )
    })
  }, [plugin, paused])
  return { lines, waiting, remote }
}
