import { useEffect } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import type { Plugin, Point } from '../base/types.ts'
import { useChanges } from './changes.ts'
import { useRemote } from './remote.ts'

/** Values of sensors and controls as they change. */
export function usePoints(plugin: Plugin, kind: 'sensor' | 'control') {
  const { id, state } = plugin
  const remote = useRemote<Record<string, Point[]>>(pluginApi(id, `/${kind}s`))
  const { changes, forget } = useChanges(kind, id, remote.value)
  // Which there are changes with the state: read them again.
  useEffect(() => {
    forget()
    remote.reload()
  }, [state])
  const read = remote.value?.[`${kind}s`] ?? []
  const known = new Set(read.map((point) => point.id))
  const added = [...changes].flatMap(([point, { removed }]) => (removed || known.has(point) ? [] : [point]))
  // A change tells the value alone, not what it is a value of.
  useEffect(() => {
    if (added.length > 0) remote.reload()
  }, [added.join('\n')])
  const points = read.flatMap((point) => {
    const change = changes.get(point.id)
    if (change === undefined) return [point]
    return change.removed ? [] : [{ ...point, value: change.value }]
  })
  return { points, error: remote.error, reload: remote.reload }
}
