import type { PermissionEntry, PermissionKind } from '../../schema/permissions.ts'
import { Note } from '../parts/note.tsx'

const words: Readonly<Record<PermissionKind, string>> = {
  host: 'Connect to',
  publish: 'Publish to',
  subscribe: 'Listen to',
  plugin: 'Use the plugin',
  everything: 'Everything',
}

/** A value of the kind that stands for all there is. */
const anything: Readonly<Partial<Record<PermissionKind, string>>> = {
  host: 'any address',
  publish: 'any MQTT topic',
  subscribe: 'any MQTT topic',
  plugin: 'any other',
}

export function PermissionList({ label, entries }: { label: string; entries: readonly PermissionEntry[] }) {
  return (
    <ul class="permissions" aria-label={label}>
      {entries.map(({ kind, value }) => {
        const all = value === '*' || value === '#' ? anything[kind] : undefined
        return (
          <li key={`${kind} ${value}`} class={all === undefined && kind !== 'everything' ? '' : 'wide-open'}>
            {words[kind]} {kind === 'everything' ? '' : all === undefined ? <code>{value}</code> : all}
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
