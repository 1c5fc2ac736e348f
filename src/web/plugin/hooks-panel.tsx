import { useState } from 'preact/hooks'
import type { HookView } from '../../schema/outside/hook.ts'
import { pluginApi } from '../base/api.ts'
import type { Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { ReadState } from '../parts/feedback.tsx'
import { busy, renewHookSecret } from '../store/commands.ts'
import { tell } from '../store/notices.ts'
import { useRemote } from '../store/remote.ts'

const authWords: Readonly<Record<HookView['auth'], string>> = {
  secret: 'for who knows this address',
  token: 'for who has the token of the host',
  none: 'for anybody',
}

/** Where the plugin can be asked from outside. The addresses are as good as passwords, so they are shown when asked for. */
export function HooksPanel({ plugin }: { plugin: Plugin }) {
  const { revision, resources } = plugin
  const remote = useRemote<{ hooks: HookView[] }>(pluginApi(plugin.id, '/hooks'), {
    version: `${revision} ${resources.httpHandlers}`,
  })
  const [shown, setShown] = useState(false)
  const [renewing, setRenewing] = useState(false)
  const doing = busy.value.has(plugin.id)
  const hooks = remote.value?.hooks ?? []
  return (
    <section class="panel">
      <h2>Requests from outside</h2>
      <ReadState remote={remote} what="the addresses" />
      <ul class="versions" aria-label="Addresses">
        {hooks.map(({ path: name, url, auth, methods }) => {
          const shownName = name === '' ? '/' : name
          return (
            <li key={name}>
              <span>
                <strong>{breakable(shownName)}</strong>
                <small class="hint">
                  {methods === null ? '' : `${methods.join(', ')}, `}
                  {authWords[auth]}
                </small>
                {shown ? <code>{breakable(url)}</code> : null}
              </span>
              <button
                type="button"
                aria-label={`Copy the address of ${shownName}`}
                onClick={() => void copy(url)}
              >
                Copy
              </button>
            </li>
          )
        })}
      </ul>
      <div class="actions">
        <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? 'Hide the addresses' : 'Show the addresses'}
        </button>
        {hooks.some(({ auth }) => auth === 'secret') ? (
          <button type="button" class="danger" disabled={doing} onClick={() => setRenewing(true)}>
            Renew the secret
          </button>
        ) : null}
      </div>
      {renewing ? (
        <ConfirmDialog
          title={`New addresses for ${plugin.name}?`}
          confirm="Renew"
          cancel="Cancel"
          onConfirm={() => void renewHookSecret(plugin.id)}
          onClose={() => setRenewing(false)}
        >
          <p>
            The addresses with a secret part get another one. Whoever calls the old ones is turned away from
            then on, until you have told them the new ones.
          </p>
        </ConfirmDialog>
      ) : null}
    </section>
  )
}

/** Browsers let a page copy only where its connection is encrypted, or to this machine. */
async function copy(url: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(url)
    tell('The address is copied.')
  } catch {
    tell('This browser does not let the page copy; show the addresses, and copy it by hand.')
  }
}
