import { pluginApi } from '../base/api.ts'
import type { Plugin, PluginVersion } from '../base/types.ts'
import { dateTimeOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { ReadState } from '../parts/feedback.tsx'
import { busy, rollback } from '../store/commands.ts'
import { useRemote } from '../store/remote.ts'

/** The installed version, and those that one can go back to. */
export function VersionsPanel({ plugin }: { plugin: Plugin }) {
  const remote = useRemote<{ versions: PluginVersion[] }>(pluginApi(plugin.id, '/versions'), {
    version: plugin.revision,
  })
  const versions = remote.value?.versions
  const doing = busy.value.has(plugin.id)
  return (
    <section class="panel">
      <h2>Versions</h2>
      <ReadState remote={remote} what="the versions" />
      <ul class="versions" aria-label="Versions">
        {versions?.map(({ version, at, current, available, failed, repository }) => (
          <li key={`${version} ${at}`}>
            <span>
              <strong>{version}</strong>
              <small class="hint">
                {current ? 'installed' : 'replaced'} {dateTimeOf(at)}
                {repository === null ? '' : breakable(`, from ${repository}`)}
                {failed ? '; it did not run' : ''}
              </small>
            </span>
            {current ? (
              <span class="chip tone-good">Installed</span>
            ) : available ? (
              <button
                type="button"
                disabled={doing}
                aria-label={`Go back to ${version}`}
                onClick={() => void rollback(plugin.id, version)}
              >
                Go back
              </button>
            ) : (
              <span class="hint">Its files are gone</span>
            )}
          </li>
        ))}
      </ul>
      {versions === undefined ? null : (
        <p class="hint">
          {versions.length === 1
            ? 'After an update the version before is kept here, with the settings it had.'
            : 'Going back brings the settings of then back, too; those of now are kept with the present version.'}
        </p>
      )}
    </section>
  )
}
