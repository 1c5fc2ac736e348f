import { useEffect, useState } from 'preact/hooks'
import { pluginApi } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { Exposed, Plugin } from '../base/types.ts'
import { useRemote } from './remote.ts'

/** What a plugin exposes, as it comes, changes and goes. */
export function useExposures({ id, state }: Plugin) {
  const remote = useRemote<{ exposures: Exposed[] }>(pluginApi(id, '/exposures'), { version: state })
  // Undefined until they have been read.
  const [shown, setShown] = useState<ReadonlyMap<string, Exposed>>()
  useEffect(() => {
    if (remote.value !== undefined)
      setShown(new Map(remote.value.exposures.map((exposed) => [exposed.id, exposed])))
  }, [remote.value])
  useEffect(
    () =>
      onAnnouncements({ kinds: ['exposure', 'exposed'], plugin: id }, (announcements) => {
        setShown((before) => {
          const next = new Map(before)
          for (const change of announcements) {
            const present = next.get(change.id)
            if (change.kind === 'exposed') {
              if (present !== undefined) next.set(change.id, { ...present, state: change.state })
            } else if (change.exposure === null) next.delete(change.id)
            else
              next.set(change.id, { id: change.id, state: present?.state ?? {}, exposure: change.exposure })
          }
          return next
        })
      }),
    [id],
  )
  return { exposures: shown && [...shown.values()], remote }
}
