import type { PermissionEntry } from '../../schema/permissions.ts'
import { permissionInWords } from '../base/permission-words.ts'
import { Note } from '../parts/note.tsx'

export function PermissionList({ label, entries }: { label: string; entries: readonly PermissionEntry[] }) {
  return (
    <ul class="permissions" aria-label={label}>
      {entries.map((entry) => {
        const { verb, what, all } = permissionInWords(entry)
        return (
          <li key={`${entry.kind} ${entry.value}`} class={all ? 'wide-open' : ''}>
            {verb} {what === undefined ? '' : all ? what : <code>{what}</code>}
          </li>
        )
      })}
    </ul>
  )
}

/** For a plugin whose manifest has no list. */
export function UnlimitedMark() {
  return (
    <Note>
      It does not say what it needs: it may connect to any address, use every MQTT topic and every other
      plugin. Use it only if you trust who made it.
    </Note>
  )
}
