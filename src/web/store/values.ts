import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import { connections, onAnnouncements } from '../base/stream.ts'
import type { Plugin, Point } from '../base/types.ts'
import { useRemote } from './remote.ts'

/** Objects, sensors and controls of a plugin, with their values as they change. */

interface Change {
  value: unknown
  removed: boolean
  /** Which connection told it. */
  connection: number
}

/** What the host answers, and what the stream has told since, by path or id. What there is changes with the plugin's state. */
function useChanging<T>({ id, state }: Plugin, kind: 'object' | 'sensor' | 'control') {
  const remote = useRemote<T>(pluginApi(id, `/${kind}s`), { version: state })
  const [changes, setChanges] = useState<ReadonlyMap<string, Change>>(new Map())
  useEffect(
    () =>
      onAnnouncements({ kinds: [kind], plugin: id }, (announcements) => {
        const connection = connections.peek()
        const told = announcements.map((announcement): [string, Change] => {
          const { value, removed } = announcement
          return [
            'path' in announcement ? announcement.path : announcement.id,
            { value, removed, connection },
          ]
        })
        setChanges((before) => new Map([...before, ...told]))
      }),
    [id, kind],
  )
  useEffect(() => setChanges(new Map()), [state])
  // What was told before a break may have changed during it, and was read after it.
  useEffect(() => {
    const present = connections.peek()
    setChanges((before) => new Map([...before].filter(([, { connection }]) => connection === present)))
  }, [remote.value])
  return { remote, changes }
}

export function useObjects(plugin: Plugin) {
  const { remote, changes } = useChanging<{ objects: Record<string, unknown> }>(plugin, 'object')
  const objects = new Map(Object.entries(remote.value?.objects ?? {}))
  for (const [path, change] of changes) {
    if (change.removed) objects.delete(path)
    else objects.set(path, change.value)
  }
  return { objects, remote }
}

export function usePoints(plugin: Plugin, kind: 'sensor' | 'control') {
  const { remote, changes } = useChanging<Record<string, Point[]>>(plugin, kind)
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
  return { points, remote }
}
