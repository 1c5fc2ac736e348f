import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { Plugin, Point } from '../base/types.ts'
import { useRemote } from './remote.ts'

/** Values of sensors and controls as they change. */
export function usePoints(plugin: Plugin, kind: 'sensor' | 'control') {
  const remote = useRemote<Record<string, Point[]>>(pluginApi(plugin.id, `/${kind}s`))
  const [changes, setChanges] = useState<ReadonlyMap<string, unknown>>(new Map())
  const { id, state } = plugin
  useEffect(
    () =>
      onAnnouncements((announcements) => {
        const own = announcements.flatMap((announcement) =>
          announcement.kind === kind && announcement.plugin === id ? [announcement] : [],
        )
        if (own.length === 0) return
        setChanges(
          (before) => new Map([...before, ...own.map(({ id: point, value }) => [point, value] as const)]),
        )
      }),
    [id, kind],
  )
  // Which there are changes with the state: read them again.
  useEffect(() => {
    setChanges(new Map())
    remote.reload()
  }, [state])
  const points = (remote.value?.[`${kind}s`] ?? []).map((point) =>
    changes.has(point.id) ? { ...point, value: changes.get(point.id) } : point,
  )
  return { points, error: remote.error, reload: remote.reload }
}
