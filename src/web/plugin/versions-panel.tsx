import { pluginApi } from '../base/api.ts'
import type { Plugin, PluginVersion } from '../base/types.ts'
import { dateTimeOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { busy, rollback } from '../store/commands.ts'
import { useRemote } from '../store/remote.ts'

/** The installed version, and those that one can go back to. */
export function VersionsPanel({ plugin }: { plugin: Plugin }) {
  // The address changes with the plugin, so that it is read again.
  const path = pluginApi(plugin.id, `/versions?at=${plugin.revision}`)
  const { value, error, reload } = useRemote<{ versions: PluginVersion[] }>(path)
  const doing = busy.value.has(plugin.id)
  return (
    <section class="panel">
      <h2>Versions</h2>
      {error === '' ? null : <Failure text={error} onRetry={reload} />}
      {value === undefined && error === '' ? <Loading what="the versions" /> : null}
      <ul class="versions" aria-label="Versions">
        {value?.versions.map(({ version, at, current, available, failed, repository }) => (
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
      {value?.versions.length === 1 ? (
        <p class="hint">After an update the version before is kept here, with the settings it had.</p>
      ) : null}
    </section>
  )
}
