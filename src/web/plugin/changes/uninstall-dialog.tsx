import { useState } from 'preact/hooks'
import { go, place } from '../../base/router.ts'
import type { Plugin } from '../../base/types.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { uninstall } from '../../store/commands.ts'

/** As the host calls it, and in words. */
const purgeable = [
  ['kv', 'Remove the values that it has stored'],
  ['files', 'Remove its files'],
] as const

export function UninstallDialog({ plugin, onClose }: { plugin: Plugin; onClose(): void }) {
  const [purged, setPurged] = useState<readonly string[]>([])

  async function remove(): Promise<void> {
    const { path } = place.peek()
    // Somebody may have gone on meanwhile.
    if ((await uninstall(plugin.id, purged)) && place.peek().path === path) go('/plugins')
  }

  return (
    <ConfirmDialog
      title={`Uninstall ${plugin.name}?`}
      confirm="Uninstall"
      cancel="Keep it"
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>
        It stops, and its settings are gone. What it has stored stays for the next time, unless you say so:
      </p>
      {purgeable.map(([what, words]) => (
        <label key={what} class="check">
          <input
            type="checkbox"
            checked={purged.includes(what)}
            onChange={({ currentTarget: { checked } }) =>
              setPurged((now) => (checked ? [...now, what] : now.filter((one) => one !== what)))
            }
          />
          {words}
        </label>
      ))}
    </ConfirmDialog>
  )
}
