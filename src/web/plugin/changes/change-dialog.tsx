import type { ChangeCheck } from '../../../schema/plugin/change-check.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Failure } from '../../parts/feedback.tsx'
import { install, update } from '../../store/commands.ts'
import { plugins } from '../../store/plugins.ts'
import { ChangeDetails } from './change-details.tsx'
import { type Change, useChangeCheck } from './use-change-check.ts'

/** What an installation or an update brings, before it is done. */
export function ChangeDialog({ change, onClose }: { change: Change; onClose(): void }) {
  const { value: check, error, reload } = useChangeCheck(change)
  const verb = change.kind === 'install' ? 'Install' : 'Update'
  const nothingNew = change.kind === 'update' && check?.unchanged === true
  const blocked = check === undefined || check.problems.length > 0

  function go(): void {
    onClose()
    if (check === undefined) return
    if (change.kind === 'install') void install(change.id, change.repository, check.to)
    else void update(change.id, check.to)
  }

  return (
    <Dialog title={nothingNew ? `${change.name} is up to date` : `${verb} ${change.name}?`} onClose={onClose}>
      {error === '' ? null : <Failure text={error} onRetry={reload} />}
      {check === undefined && error === '' ? (
        <p class="progress" role="status">
          <progress aria-label="Looking at it" /> Fetching and checking it; nothing is changed yet…
        </p>
      ) : null}
      {check === undefined ? null : nothingNew ? (
        <p>
          The repository {check.repository} has version {check.to} too, with the same files.
        </p>
      ) : (
        <>
          <ChangeDetails check={check} plugin={plugins.value?.get(change.id)} />
          <p class="hint">{consequence(change, check)}</p>
        </>
      )}
      <div class="actions">
        {nothingNew ? null : (
          <button type="button" class="primary" disabled={blocked} onClick={go}>
            {verb}
          </button>
        )}
        <button type="button" onClick={onClose}>
          {nothingNew || blocked ? 'Close' : 'Not now'}
        </button>
      </div>
    </Dialog>
  )
}

function consequence({ kind, id }: Change, { problems, config }: ChangeCheck): string {
  if (problems.length > 0) return `${kind === 'install' ? 'Installing' : 'Updating'} is not possible now.`
  if (kind === 'install') return 'It stays off until you switch it on.'
  const { enabled = false } = plugins.value?.get(id) ?? {}
  if (enabled && !config.valid)
    return 'With these settings it will not start, and the present version comes back. Switch it off to update, and set it right then.'
  return enabled
    ? 'It stops and starts again. If the new version does not start, the present one comes back. Settings and stored values stay.'
    : 'It stays off. Settings and stored values stay.'
}
