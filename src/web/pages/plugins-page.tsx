import { useMemo } from 'preact/hooks'
import { place, pluginPath, setQuery } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { compareText, countOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { useGrowing } from '../parts/growing.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { PluginChip } from '../parts/state-chip.tsx'
import { Switch } from '../parts/switch.tsx'
import { TagFilter, tagsOf } from '../parts/tag-filter.tsx'
import { busy, toggle } from '../store/commands.ts'
import { pluginList, plugins, pluginsRemote } from '../store/plugins.ts'

export function PluginsPage() {
  const all = plugins.value
  const { query } = place.value
  const wanted = query.get('q') ?? ''
  const tag = query.get('tag') ?? ''
  const state = query.get('state') ?? ''
  const list = pluginList.value
  const shown = useMemo(() => filtered(list, wanted, tag, state), [list, wanted, tag, state])
  const tags = useMemo(() => tagsOf(list), [list])
  return (
    <Page
      title="Plugins"
      aside={all === undefined ? null : <span class="count">{countOf(all.size, 'plugin')}</span>}
    >
      <div class="toolbar">
        <SearchBox label="Search plugins" value={wanted} onInput={(q) => setQuery({ q })} />
        <select
          aria-label="State"
          value={state}
          onChange={({ currentTarget }) => setQuery({ state: currentTarget.value })}
        >
          <option value="">Any state</option>
          <option value="running">Running</option>
          <option value="failed">Failed</option>
          <option value="off">Off</option>
        </select>
        <a class="install" href="/catalog">
          Install a plugin
        </a>
      </div>
      <TagFilter tags={tags} chosen={tag} />
      <ReadState remote={pluginsRemote()} what="the plugins" />
      {all?.size === 0 ? (
        <Empty>
          Nothing is installed yet. <a href="/catalog">Choose a plugin from the catalog</a>.
        </Empty>
      ) : null}
      {all !== undefined && all.size > 0 && shown.length === 0 ? (
        <Empty>No plugin fits the search.</Empty>
      ) : null}
      <PluginList items={shown} />
    </Page>
  )
}

function PluginList({ items }: { items: readonly Plugin[] }) {
  const { shown, end } = useGrowing(items.length)
  const atWork = busy.value
  return (
    <>
      <ul class="rows" aria-label="Installed plugins">
        {items.slice(0, shown).map((plugin) => (
          <PluginRow key={plugin.id} plugin={plugin} doing={atWork.get(plugin.id) ?? ''} />
        ))}
      </ul>
      {end}
    </>
  )
}

function PluginRow({ plugin, doing }: { plugin: Plugin; doing: string }) {
  const { id, name, version, description, error, enabled, state, fields, host, stale } = plugin
  return (
    <li class="row">
      <span class={`light light-${state}`} aria-hidden="true" />
      <div class="row-text">
        <a class="row-name" href={pluginPath(id)}>
          {breakable(name)}
        </a>
        <span class="id">
          {breakable(id)} · {version}
          {host === null ? null : breakable(` · on ${host}`)}
          {stale === true ? ' · as last known' : null}
          {fields.length === 0 ? null : (
            <>
              {' · '}
              <a href={pluginPath(id, 'settings')} aria-label={`Settings of ${name}`}>
                Settings
              </a>
            </>
          )}
        </span>
        {error === null ? (
          <p class="row-hint">{description ?? ''}</p>
        ) : (
          <p class="row-error">{breakable(error.message)}</p>
        )}
      </div>
      {doing === '' ? <PluginChip plugin={plugin} /> : <span class="chip tone-busy">{doing}</span>}
      <Switch
        label={`${name} enabled`}
        on={enabled}
        disabled={doing !== ''}
        onChange={(on) => void toggle(id, on)}
      />
    </li>
  )
}

function filtered(all: readonly Plugin[], wanted: string, tag: string, state: string): Plugin[] {
  const text = wanted.trim().toLowerCase()
  return all
    .filter((plugin) => {
      if (tag !== '' && !plugin.tags.includes(tag)) return false
      if (state === 'off' ? plugin.enabled : state !== '' && plugin.state !== state) return false
      return [plugin.id, plugin.name, plugin.description ?? '', plugin.author ?? '', ...plugin.tags].some(
        (part) => part.toLowerCase().includes(text),
      )
    })
    .sort((one, other) => compareText(one.name, other.name))
}
