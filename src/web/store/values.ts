import { useEffect, useRef, useState } from 'preact/hooks'
import type { ExposedState, Exposure } from '../../schema/plugin/exposure.ts'
import { pluginApi } from '../base/api.ts'
import { type Announcement, connections, onAnnouncements } from '../base/stream.ts'
import type { Exposed, Plugin, Point } from '../base/types.ts'
import { useRemote } from './remote.ts'

/** Objects, sensors and controls of a plugin, and what it exposes, with their values as they change. */

type Changes<Change> = ReadonlyMap<string, Change>

/**
 * What the host answers, and what the stream has told since, by path or id: that is newer than an answer which was on its way
 * meanwhile. What there is changes with the plugin's state, and with the host of a fleet that has it: that one says nothing of
 * what the host before had. `changeOf`: which one an announcement changes, and how.
 */
function useChanging<T, Kind extends Announcement['kind'], Change>(
  { id, state, host, epoch }: Plugin,
  path: string,
  kinds: readonly Kind[],
  changeOf: (
    announcement: Extract<Announcement, { kind: Kind }>,
    before: Changes<Change>,
  ) => [key: string, Change],
) {
  const run = `${state} ${host} ${epoch}`
  const remote = useRemote<T>(pluginApi(id, path), { version: run })
  const connection = connections.value
  const reading = useRef(0)
  const [changes, setChanges] = useState<Changes<Change>>(new Map())
  /** During which reading each was told. */
  const told = useRef(new Map<string, number>())
  useEffect(() => {
    reading.current += 1
  }, [run, connection])
  useEffect(
    () =>
      onAnnouncements({ kinds, plugin: id }, (announcements) =>
        setChanges((before) => {
          const next = new Map(before)
          for (const announcement of announcements) {
            const [key, change] = changeOf(announcement, next)
            next.set(key, change)
            told.current.set(key, reading.current)
          }
          return next
        }),
      ),
    [id, path],
  )
  // What was told before a break may have changed during it, and was read after it.
  useEffect(() => {
    setChanges((before) => new Map([...before].filter(([key]) => told.current.get(key) === reading.current)))
  }, [remote.value])
  return { remote, changes }
}

interface ValueChange {
  value: unknown
  removed: boolean
}

export function useObjects(plugin: Plugin) {
  const { remote, changes } = useChanging<{ objects: Record<string, unknown> }, 'object', ValueChange>(
    plugin,
    '/objects',
    ['object'],
    (announcement) => [announcement.path, announcement],
  )
  const objects = new Map(Object.entries(remote.value?.objects ?? {}))
  for (const [path, change] of changes) {
    if (change.removed) objects.delete(path)
    else objects.set(path, change.value)
  }
  return { objects, remote }
}

export function usePoints(plugin: Plugin, kind: 'sensor' | 'control') {
  const { remote, changes } = useChanging<Record<string, Point[]>, 'sensor' | 'control', ValueChange>(
    plugin,
    `/${kind}s`,
    [kind],
    (announcement) => [announcement.id, announcement],
  )
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

interface ExposureChange {
  /** null: it is not exposed any more. */
  exposure?: Exposure | null
  state?: ExposedState
}

export function useExposures(plugin: Plugin) {
  const { remote, changes } = useChanging<{ exposures: Exposed[] }, 'exposure' | 'exposed', ExposureChange>(
    plugin,
    '/exposures',
    ['exposure', 'exposed'],
    (announcement, before) => {
      const known = before.get(announcement.id)
      if (announcement.kind === 'exposed') return [announcement.id, { ...known, state: announcement.state }]
      const { id, exposure } = announcement
      // One that comes back is another one.
      const isOther = exposure === null || known?.exposure === null
      return [id, isOther ? { exposure, state: {} } : { ...known, exposure }]
    },
  )
  const exposures = new Map((remote.value?.exposures ?? []).map((exposed) => [exposed.id, exposed]))
  for (const [id, change] of changes) {
    const { exposure, state } = { state: {}, ...exposures.get(id), ...change }
    if (exposure === null || exposure === undefined) exposures.delete(id)
    else exposures.set(id, { id, exposure, state })
  }
  return { exposures: remote.value && [...exposures.values()], remote }
}
