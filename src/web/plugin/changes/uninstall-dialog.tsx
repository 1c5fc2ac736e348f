import { useState } from 'preact/hooks'
import { go, place } from '../../base/router.ts'
import type { Plugin } from '../../base/types.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { uninstall } from '../../store/commands.ts'

export function UninstallDialog({ plugin, onClose }: { plugin: Plugin; onClose(): void }) {
  const [values, setValues] = useState(false)
  const [files, setFiles] = useState(false)

  async function remove(): Promise<void> {
    const purge = [...(values ? ['kv'] : []), ...(files ? ['files'] : [])]
    const { path } = place.peek()
    // Somebody may have gone on meanwhile.
    if ((await uninstall(plugin.id, purge)) && place.peek().path === path) go('/plugins')
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
      <label class="check">
        <input
          type="checkbox"
          checked={values}
          onChange={({ currentTarget }) => setValues(currentTarget.checked)}
        />
        Remove the values that it has stored
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={files}
          onChange={({ currentTarget }) => setFiles(currentTarget.checked)}
        />
        Remove its files
      </label>
    </ConfirmDialog>
  )
}
