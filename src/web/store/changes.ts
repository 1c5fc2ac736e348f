import { useEffect, useState } from 'preact/hooks'
import { connections, onAnnouncements } from '../base/stream.ts'

/** What the stream has told of values since they were read. */

export interface Change {
  value: unknown
  removed: boolean
  /** Which connection told it. */
  connection: number
}

/** By path or id. `read`: the answer that the changes come on top of; it is another one each time it is read. */
export function useChanges(
  kind: 'object' | 'sensor' | 'control',
  plugin: string,
  read: unknown,
): { changes: ReadonlyMap<string, Change>; forget(): void } {
  const [changes, setChanges] = useState<ReadonlyMap<string, Change>>(new Map())
  useEffect(
    () =>
      onAnnouncements({ kinds: [kind], plugin }, (announcements) => {
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
    [plugin, kind],
  )
  // What was told before a break may have changed during it, and was read after it.
  useEffect(() => {
    const present = connections.peek()
    setChanges((before) => new Map([...before].filter(([, { connection }]) => connection === present)))
  }, [read])
  return { changes, forget: () => setChanges(new Map()) }
}
