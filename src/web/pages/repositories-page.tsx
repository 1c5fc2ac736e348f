import type { TargetedInputEvent } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../base/api.ts'
import type { Repository } from '../base/types.ts'
import { countOf, dateTimeOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Empty, Failure, Note, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { useSubmit } from '../parts/inputs/use-submit.ts'
import { repositoryChanges } from '../store/journal.ts'
import { useKeptState } from '../store/kept-state.ts'
import { tell, tellFailure } from '../store/notices.ts'
import { useRemote } from '../store/remote.ts'
import { Link } from '../parts/link.tsx'
import { literalText } from '../parts/inputs/literal-text.ts'

interface Answer {
  repositories: Repository[]
}

export function RepositoriesPage() {
  const remote = useRemote<Answer>('/api/repositories', { version: repositoryChanges.value })
  const { value, set } = remote
  const [removing, setRemoving] = useState<string | undefined>(undefined)

  async function remove(name: string): Promise<void> {
    try {
      set(await send<Answer>('DELETE', `/api/repositories/${encodeURIComponent(name)}`))
      tell(`${name} is removed. Plugins that came from it stay.`)
    } catch (failure) {
      tellFailure(failure)
    }
  }

  return (
    <Page title="Repositories">
      <ReadState remote={remote} what="the repositories" />
      {value?.repositories.length === 0 ? <Empty>There is no repository yet.</Empty> : null}
      <ul class="rows" aria-label="Repositories">
        {value?.repositories.map((repository) => (
          <li key={repository.name} class="row">
            <div class="row-text">
              <Link class="row-name" to={`/catalog?repository=${encodeURIComponent(repository.name)}`}>
                {breakable(repository.name)}
              </Link>
              <span class="id">
                {breakable(repository.url)}
                {repository.namespace === null ? '' : breakable(` · @${repository.namespace}`)}
              </span>
              {repository.error === null ? (
                <p class="row-hint">
                  {countOf(repository.plugins, 'plugin')} · <SignatureMark repository={repository} />
                </p>
              ) : (
                <Failure text={repository.error} onRetry={remote.reload} />
              )}
              {repository.namespaceHeldBy === null ? null : (
                <Note>
                  The namespace @{repository.namespace} belongs to {repository.namespaceHeldBy}, which had it
                  first. A plugin is installed from here only when this repository is chosen by name.
                </Note>
              )}
            </div>
            <button
              type="button"
              aria-label={`Remove ${repository.name}`}
              onClick={() => setRemoving(repository.name)}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <AddRepository onAdded={set} />
      {removing === undefined ? null : (
        <ConfirmDialog
          title={`Remove ${removing}?`}
          confirm="Remove"
          cancel="Keep it"
          onConfirm={() => void remove(removing)}
          onClose={() => setRemoving(undefined)}
        >
          <p>Its plugins leave the catalog. Those that are installed stay, but get no updates from it.</p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function SignatureMark({ repository: { publicKey, signed, signedAt } }: { repository: Repository }) {
  if (!signed || publicKey === null) return <span class="chip">Not signed</span>
  return (
    <>
      <span class="chip tone-good">Signed</span>
      {signedAt === null ? '' : ` on ${dateTimeOf(signedAt)}`} with the key <code>{publicKey}</code>
    </>
  )
}

const nothing = { name: '', url: '', publicKey: '' }

function AddRepository({ onAdded }: { onAdded(answer: Answer): void }) {
  const [typed, setTyped] = useKeptState('repository to add', nothing)
  const { name, url, publicKey } = typed
  const { submit, sending, failure } = useSubmit(async () => {
    const key = publicKey.trim()
    const body = { name: name.trim(), url: url.trim(), ...(key === '' ? {} : { publicKey: key }) }
    onAdded(await send<Answer>('POST', '/api/repositories', body))
    tell(`${name} is added.`)
    // What has been typed meanwhile stays.
    setTyped((now) => ({
      name: now.name === name ? '' : now.name,
      url: now.url === url ? '' : now.url,
      publicKey: now.publicKey === publicKey ? '' : now.publicKey,
    }))
  })
  const typedInto =
    (field: keyof typeof nothing) =>
    ({ currentTarget: { value } }: TargetedInputEvent<HTMLInputElement>): void =>
      setTyped((now) => ({ ...now, [field]: value }))

  return (
    <form class="panel" onSubmit={submit}>
      <h2>Add a repository</h2>
      <label class="field">
        Name
        <input value={name} required maxLength={128} {...literalText} onInput={typedInto('name')} />
      </label>
      <label class="field">
        Address: a web address, or a folder of the machine that the host runs on
        <input value={url} required maxLength={2048} {...literalText} onInput={typedInto('url')} />
      </label>
      <label class="field">
        Public key of its maintainer, if it is signed
        <input
          value={publicKey}
          maxLength={2048}
          {...literalText}
          placeholder="RW…"
          aria-describedby="key-hint"
          onInput={typedInto('publicKey')}
        />
      </label>
      <p class="hint" id="key-hint">
        With a key, only what is signed with it is ever installed from there. Without one, whoever controls
        the address decides.
      </p>
      {failure === '' ? null : <Failure text={failure} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={sending || name.trim() === '' || url.trim() === ''}>
          {sending ? 'Reading its index…' : 'Add'}
        </button>
      </div>
    </form>
  )
}
