import type { CatalogEntry } from '../base/types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { update } from '../store/commands.ts'
import { plugins } from '../store/plugins.ts'

/** What an update changes, before it is made. */
export function UpdateDialog({ entry, onClose }: { entry: CatalogEntry; onClose(): void }) {
  const plugin = plugins.value?.get(entry.fullId)
  return (
    <Dialog title={`Update ${entry.name}?`} onClose={onClose}>
      <dl class="facts">
        <dt>Version</dt>
        <dd>
          {plugin?.version ?? entry.installedVersion} → <strong>{entry.version}</strong>
        </dd>
        <dt>From</dt>
        <dd>{entry.repository}</dd>
        <dt>Files</dt>
        <dd>All are replaced at once, after they have been fetched and checked.</dd>
        <dt>Settings and stored values</dt>
        <dd>Stay as they are.</dd>
        <dt>While it is updated</dt>
        <dd>
          {plugin?.enabled === true
            ? 'It stops and starts again. If the new version does not start, the present one comes back.'
            : 'It stays off.'}
        </dd>
      </dl>
      <div class="actions">
        <button
          type="button"
          class="primary"
          onClick={() => {
            void update(entry.fullId, entry.version)
            onClose()
          }}
        >
          Update
        </button>
        <button type="button" onClick={onClose}>
          Not now
        </button>
      </div>
    </Dialog>
  )
}
