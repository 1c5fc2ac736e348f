import { useEffect, useRef } from 'preact/hooks'
import { go, pluginPath } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { PluginSwitch } from '../parts/inputs/plugin-switch.tsx'
import { Condition } from '../plugin/condition.tsx'
import { ControlsTab } from '../plugin/controls-tab.tsx'
import { DocumentsTab } from '../plugin/documents-tab.tsx'
import { EventsTab } from '../plugin/events-tab.tsx'
import { HistoryTab } from '../plugin/history-tab.tsx'
import { LimitsTab } from '../plugin/limits-tab.tsx'
import { LogsTab } from '../plugin/logs-tab.tsx'
import { ObjectsTab } from '../plugin/objects-tab.tsx'
import { OverviewTab } from '../plugin/overview-tab.tsx'
import { SettingsTab } from '../plugin/settings/settings-tab.tsx'
import { pluginList, plugins, pluginsRemote } from '../store/plugins.ts'
import { Link } from '../parts/link.tsx'

const tabs = [
  ['', 'Overview', OverviewTab],
  ['settings', 'Settings', SettingsTab],
  ['controls', 'Controls', ControlsTab],
  ['objects', 'Objects', ObjectsTab],
  ['events', 'Events', EventsTab],
  ['logs', 'Logs', LogsTab],
  ['documents', 'Documents', DocumentsTab],
  ['limits', 'Limits', LimitsTab],
  ['history', 'History', HistoryTab],
] as const

export function PluginPage({ id, tab }: { id: string; tab: string }) {
  const all = plugins.value
  const plugin = all?.get(id) ?? withShortId(id)
  const tabList = useRef<HTMLElement>(null)
  const loaded = plugin !== undefined
  // Not all tabs fit on a phone.
  useEffect(() => {
    const list = tabList.current
    const current = list?.querySelector<HTMLElement>('[aria-current]')
    if (list && current) list.scrollLeft = current.offsetLeft - list.clientWidth / 3
  }, [tab, loaded])
  useEffect(() => {
    if (plugin !== undefined && plugin.id !== id) go(pluginPath(plugin.id, tab), { replace: true })
  }, [plugin, id, tab])
  if (all === undefined) return <ReadState remote={pluginsRemote()} what="the plugin" />
  if (plugin === undefined) {
    return (
      <Page title="Not installed">
        <Empty>
          {breakable(id)} is not installed. <Link to={`/catalog?q=${id}`}>Look for it in the catalog</Link>,
          or see <Link to={`/machines/plugin-lifecycle?plugin=${id}`}>what has happened to it</Link>.
        </Empty>
      </Page>
    )
  }
  const [, , Tab] = tabs.find(([name]) => name === tab) ?? tabs[0]
  return (
    <Page
      title={plugin.name}
      aside={
        <div class="page-state">
          <PluginSwitch plugin={plugin} />
        </div>
      }
    >
      <p class="id">
        {breakable(plugin.id)} · {plugin.version}
        {plugin.host === null ? null : ` · on ${plugin.host}`}
      </p>
      <Condition plugin={plugin} />
      <nav class="tabs" ref={tabList} aria-label={`Parts of ${plugin.name}`}>
        {tabs.map(([name, label]) => (
          <Link key={name} to={pluginPath(plugin.id, name)} aria-current={name === tab ? 'page' : undefined}>
            {label}
          </Link>
        ))}
        <Link to={`/machines/plugin-lifecycle?plugin=${plugin.id}`}>Machine</Link>
      </nav>
      <Tab key={`${plugin.id} ${tab}`} plugin={plugin} />
    </Page>
  )
}

/** Somebody may have typed the address with the short id. */
function withShortId(id: string): Plugin | undefined {
  const found = pluginList.value.filter(({ shortId }) => shortId === id)
  return found.length === 1 ? found[0] : undefined
}
