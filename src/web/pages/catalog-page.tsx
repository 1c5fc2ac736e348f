import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { get } from '../base/api.ts'
import { place, pluginPath, setQuery } from '../base/router.ts'
import type { PermissionEntry } from '../../schema/manifest/permissions.ts'
import type { CatalogEntry, Repository } from '../base/types.ts'
import { compareText, countOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, Failure, ReadState } from '../parts/feedback.tsx'
import { InfiniteList } from '../parts/lists/infinite-scroll.tsx'
import { Page } from '../parts/frame/page.tsx'
import { fitting, SearchBox, searchedText, textOfPlugin } from '../parts/lists/search-box.tsx'
import { Select } from '../parts/inputs/select.tsx'
import { permissionEntries } from '../../schema/manifest/permission-entries.ts'
import { permissionsInWords } from '../base/permission-words.ts'
import { TagFilter, Tags, tagsOf } from '../parts/lists/tag-filter.tsx'
import { ForeignNamespace } from '../plugin/changes/foreign-namespace.tsx'
import { ChangeDialog } from '../plugin/changes/change-dialog.tsx'
import type { Change } from '../plugin/changes/use-change-check.ts'
import { busy } from '../store/commands.ts'
import { repositoryChanges } from '../store/journal.ts'
import { pluginList, plugins } from '../store/plugins.ts'
import { useAnswer } from '../store/remote.ts'
import { Link } from '../parts/link.tsx'

interface CatalogAnswer {
  plugins: CatalogEntry[]
  repositories: Repository[]
}

export function CatalogPage() {
  const { query } = place.value
  const repository = query.get('repository') ?? ''
  const tag = query.get('tag') ?? ''
  const [change, setChange] = useState<Change | undefined>(undefined)
  // What is installed has changed, or what there is to install: so has what the catalog says of it.
  const versions = pluginList.value.map(({ id, version }) => `${id} ${version}`).join()
  const remote = useAnswer('catalog', readCatalog, { version: `${versions} ${repositoryChanges.value}` })
  const { plugins: entries = [], repositories = [] } = remote.value ?? {}
  const isOfChoice = ({ name }: Repository): boolean => repository === '' || name === repository
  const unread = repositories.filter(({ error }) => error !== null).filter(isOfChoice)
  const chosen = entries.filter(
    (entry) =>
      (repository === '' || entry.repository === repository) && (tag === '' || entry.tags.includes(tag)),
  )
  const shown = fitting(chosen, searchedText(), (entry) => textOfPlugin(entry, entry.fullId))
  return (
    <Page title="Catalog" count={remote.value !== undefined && countOf(entries.length, 'plugin')}>
      <div class="toolbar">
        <SearchBox label="Search the catalog" found={remote.value && shown.length} />
        <Select
          label="Repository"
          value={repository}
          options={[['', 'All repositories'], ...repositories.map(({ name }) => [name, name] as const)]}
          onChange={(name) => setQuery({ repository: name })}
        />
      </div>
      <TagFilter tags={tagsOf(entries)} chosen={tag} />
      <ReadState remote={remote} what="the repositories" />
      {unread.map(({ name, error }) => (
        <Failure key={name} text={error ?? ''} onRetry={remote.reload} />
      ))}
      {remote.value !== undefined && shown.length === 0 && unread.length === 0 ? (
        <Empty>
          {entries.length === 0 ? (
            <>
              No repository offers anything. <Link to="/repositories">See the repositories</Link>.
            </>
          ) : repository !== '' && !entries.some((entry) => entry.repository === repository) ? (
            breakable(`${repository} offers no plugin.`)
          ) : (
            'No plugin fits the search.'
          )}
        </Empty>
      ) : null}
      <InfiniteList class="cards" label="Plugins on offer" items={shown}>
        {(entry) => (
          <Offer
            key={`${entry.repository} ${entry.fullId}`}
            entry={entry}
            doing={busy.value.get(entry.fullId) ?? ''}
            onChange={setChange}
          />
        )}
      </InfiniteList>
      {change === undefined ? null : <ChangeDialog change={change} onClose={() => setChange(undefined)} />}
    </Page>
  )
}

/** With the repositories, as one that cannot be read offers nothing, and says why. */
async function readCatalog(abort: AbortSignal): Promise<CatalogAnswer> {
  const [{ plugins }, { repositories }] = await Promise.all([
    get<Pick<CatalogAnswer, 'plugins'>>('/api/catalog', abort),
    get<Pick<CatalogAnswer, 'repositories'>>('/api/repositories', abort),
  ])
  return { plugins, repositories: repositories.toSorted((one, other) => compareText(one.name, other.name)) }
}

interface OfferProps {
  entry: CatalogEntry
  doing: string
  onChange(change: Change): void
}

function Offer({ entry, doing, onChange }: OfferProps) {
  const { fullId, name, version, description, author, tags, repository, compatible, permissions } = entry
  const installed = plugins.value?.get(fullId)?.version ?? entry.installedVersion
  const actions = useFocusAfter(doing)
  return (
    <li class="card">
      <h2>{breakable(name)}</h2>
      <p class="id">
        {breakable(fullId)} · {version}
      </p>
      <p class="plugin-text">{description ?? ''}</p>
      <p class="hint">
        {breakable(author === null ? `From ${repository}` : `By ${author}, from ${repository}`)}
      </p>
      {entry.namespaceHeldBy === null ? null : (
        <ForeignNamespace id={fullId} heldBy={entry.namespaceHeldBy} />
      )}
      {permissions === null ? null : (
        <p class="hint">{breakable(needsInWords(permissionEntries(permissions)))}</p>
      )}
      {tags.length === 0 ? null : (
        <p class="tag-line">
          <Tags
            tags={tags}
            show={(tag) => (
              <span key={tag} class="tag">
                {tag}
              </span>
            )}
          />
        </p>
      )}
      <div class="actions" ref={actions}>
        {doing !== '' ? (
          <span class="progress" role="status">
            <progress aria-label={`${name}: ${doing}`} /> {doing}
          </span>
        ) : installed === null ? (
          <button
            type="button"
            class="primary"
            disabled={!compatible}
            aria-label={`Install ${name}`}
            onClick={() => onChange({ kind: 'install', id: fullId, name, repository })}
          >
            Install
          </button>
        ) : (
          <>
            <Link class="button" to={pluginPath(fullId)} aria-label={`Open ${name}`}>
              Open
            </Link>
            {entry.updateAvailable ? (
              <button
                type="button"
                class="primary"
                onClick={() => onChange({ kind: 'update', id: fullId, name })}
                aria-label={`Update ${name}`}
              >
                Update to {version}
              </button>
            ) : (
              <span class="hint">Installed, {installed}</span>
            )}
          </>
        )}
        {compatible ? null : <span class="row-error">Needs a newer version of the host.</span>}
      </div>
    </li>
  )
}

/** What was pressed is gone when it is done: the keyboard goes on at what stands there now, unless it is elsewhere already. */
function useFocusAfter(doing: string) {
  const actions = useRef<HTMLDivElement>(null)
  const before = useRef(doing)
  useLayoutEffect(() => {
    const isDone = before.current !== '' && doing === ''
    before.current = doing
    if (isDone && document.activeElement === document.body)
      actions.current?.querySelector<HTMLElement>('a, button')?.focus({ preventScroll: true })
  }, [doing])
  return actions
}

/** As the index says; the dialog before an installation asks the plugin itself. */
function needsInWords(entries: readonly PermissionEntry[]): string {
  if (entries.length === 0) return 'Needs nothing beyond its own topics.'
  const [first, second, third, ...more] = entries
  const shown = permissionsInWords([first, second, third].filter((entry) => entry !== undefined))
  return `May ${shown}${more.length === 0 ? '' : `, and ${more.length} more`}.`
}
