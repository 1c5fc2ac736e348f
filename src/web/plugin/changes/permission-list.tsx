import type { PermissionEntry } from '../../../schema/manifest/permissions.ts'
import { permissionInWords, type PermissionSettings } from '../../base/permission-words.ts'
import { breakable } from '../../parts/breakable.tsx'
import { Note } from '../../parts/feedback.tsx'

interface PermissionListProps {
  label: string
  entries: readonly PermissionEntry[]
  /** Names and values of the settings that the entries speak of. */
  settings: PermissionSettings
}

export function PermissionList({ label, entries, settings }: PermissionListProps) {
  // Several settings may come to the same, such as none at all.
  const told = new Map(
    entries.map((entry) => {
      const inWords = permissionInWords(entry, settings)
      return [`${inWords.verb} ${inWords.what ?? ''}`, inWords]
    }),
  )
  return (
    <ul class="permissions" aria-label={label}>
      {[...told].map(([key, { verb, what, words, rest, all }]) => (
        <li key={key} class={all ? 'wide-open' : ''}>
          {verb} {what === undefined ? '' : words ? breakable(what) : <code>{breakable(what)}</code>}
          {rest}
        </li>
      ))}
    </ul>
  )
}

/** All that a plugin may do outside of itself. */
export function Allowed({ label, entries, settings }: PermissionListProps) {
  const listed = entries.filter(({ kind }) => kind !== 'everything')
  if (entries.length === 0) {
    return (
      <p class="hint">
        Nothing outside of itself: it asks for no address, MQTT topic, other plugin, serial port, service of
        the network or variable of the host.
      </p>
    )
  }
  return (
    <>
      {listed.length < entries.length ? (
        <Note>
          It does not say what it needs: it may connect to any address, use every MQTT topic, every other
          plugin and every serial port, and look around in the network. Use it only if you trust who made it.
        </Note>
      ) : null}
      {listed.length === 0 ? null : <PermissionList label={label} entries={listed} settings={settings} />}
    </>
  )
}
