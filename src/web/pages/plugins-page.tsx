import { useMemo } from 'preact/hooks'
import { place, pluginPath, setQuery } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { compareText, countOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { InfiniteList } from '../parts/lists/infinite-scroll.tsx'
import { Page } from '../parts/frame/page.tsx'
import { PluginSwitch } from '../parts/inputs/plugin-switch.tsx'
import { fitting, SearchBox, searchedText, textOfPlugin } from '../parts/lists/search-box.tsx'
import { Select } from '../parts/inputs/select.tsx'
import { TagFilter, tagsOf } from '../parts/lists/tag-filter.tsx'
import { pluginList, plugins, pluginsRemote } from '../store/plugins.ts'
import { Link } from '../parts/link.tsx'

export function PluginsPage() {
  const all = plugins.value
  const { query } = place.value
  const wanted = searchedText()
  const tag = query.get('tag') ?? ''
  const state = query.get('state') ?? ''
  const list = pluginList.value
  const shown = useMemo(() => filtered(list, wanted, tag, state), [list, wanted, tag, state])
  const tags = useMemo(() => tagsOf(list), [list])
  return (
    <Page title="Plugins" count={all !== undefined && countOf(all.size, 'plugin')}>
      <div class="toolbar">
        <SearchBox label="Search plugins" found={all && shown.length} />
        <Select
          label="State"
          value={state}
          options={[
            ['', 'Any state'],
            ['running', 'Running'],
            ['failed', 'Failed'],
            ['off', 'Off'],
          ]}
          onChange={(next) => setQuery({ state: next })}
        />
        <Link class="install" to="/catalog">
          Install a plugin
        </Link>
      </div>
      <TagFilter tags={tags} chosen={tag} />
      <ReadState remote={pluginsRemote()} what="the plugins" />
      {all?.size === 0 ? (
        <Empty>
          Nothing is installed yet. <Link to="/catalog">Choose a plugin from the catalog</Link>.
        </Empty>
      ) : null}
      {all !== undefined && all.size > 0 && shown.length === 0 ? (
        <Empty>No plugin fits the search.</Empty>
      ) : null}
      <InfiniteList class="rows" label="Installed plugins" items={shown}>
        {(plugin) => <PluginRow key={plugin.id} plugin={plugin} />}
      </InfiniteList>
    </Page>
  )
}

function PluginRow({ plugin }: { plugin: Plugin }) {
  const { id, name, version, description, error, state, fields, host, stale } = plugin
  return (
    <li class="row">
      <span class={`light light-${state}`} aria-hidden="true" />
      <div class="row-text">
        <Link class="row-name" to={pluginPath(id)}>
          {breakable(name)}
        </Link>
        <span class="id">
          {breakable(id)} · {version}
          {host === null ? null : breakable(` · on ${host}`)}
          {stale === true ? ' · as last known' : null}
          {fields.length === 0 ? null : (
            <>
              {' · '}
              <Link to={pluginPath(id, 'settings')} aria-label={`Settings of ${name}`}>
                Settings
              </Link>
            </>
          )}
        </span>
        {error === null ? (
          <p class="row-hint plugin-text first-lines">{description ?? ''}</p>
        ) : (
          <p class="row-error first-lines">{breakable(error.message)}</p>
        )}
      </div>
      <PluginSwitch plugin={plugin} />
    </li>
  )
}

function filtered(all: readonly Plugin[], wanted: string, tag: string, state: string): Plugin[] {
  const chosen = all.filter((plugin) => {
    if (tag !== '' && !plugin.tags.includes(tag)) return false
    return state === 'off' ? !plugin.enabled : state === '' || plugin.state === state
  })
  return fitting(chosen, wanted, (plugin) => textOfPlugin(plugin, plugin.id)).toSorted((one, other) =>
    compareText(one.name, other.name),
  )
}
