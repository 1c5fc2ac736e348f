import { useEffect, useRef, useState } from 'preact/hooks'
import { go, pluginPath } from '../base/router.ts'
import type { Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/page.tsx'
import { PluginChip } from '../parts/state-chip.tsx'
import { Switch } from '../parts/switch.tsx'
import { Condition } from '../plugin/condition.tsx'
import { ControlsTab } from '../plugin/controls-tab.tsx'
import { DocumentsTab } from '../plugin/documents-tab.tsx'
import { EventsTab } from '../plugin/events-tab.tsx'
import { HistoryTab } from '../plugin/history-tab.tsx'
import { LimitsTab } from '../plugin/limits-tab.tsx'
import { LogsTab } from '../plugin/logs-tab.tsx'
import { ObjectsTab } from '../plugin/objects-tab.tsx'
import { OverviewTab } from '../plugin/overview-tab.tsx'
import { SettingsTab } from '../plugin/settings-tab.tsx'
import { UninstallDialog } from '../plugin/uninstall-dialog.tsx'
import { busy, toggle } from '../store/commands.ts'
import { pluginList, plugins, pluginsRemote } from '../store/plugins.ts'

const tabs = [
  ['', 'Overview'],
  ['settings', 'Settings'],
  ['controls', 'Controls'],
  ['objects', 'Objects'],
  ['events', 'Events'],
  ['logs', 'Logs'],
  ['documents', 'Documents'],
  ['limits', 'Limits'],
  ['history', 'History'],
] as const

export function PluginPage({ id, tab }: { id: string; tab: string }) {
  const all = plugins.value
  const plugin = all?.get(id) ?? withShortId(id)
  const [removing, setRemoving] = useState(false)
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
          {breakable(id)} is not installed. <a href={`/catalog?q=${id}`}>Look for it in the catalog</a>, or
          see <a href={`/machines/plugin-lifecycle?plugin=${id}`}>what has happened to it</a>.
        </Empty>
      </Page>
    )
  }
  const doing = busy.value.get(plugin.id) ?? ''
  return (
    <Page
      title={plugin.name}
      aside={
        <div class="page-state">
          {doing === '' ? <PluginChip plugin={plugin} /> : <span class="chip tone-busy">{doing}</span>}
          <Switch
            label={`${plugin.name} enabled`}
            on={plugin.enabled}
            disabled={doing !== ''}
            onChange={(on) => void toggle(plugin.id, on)}
          />
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
          <a key={name} href={pluginPath(plugin.id, name)} aria-current={name === tab ? 'page' : undefined}>
            {label}
          </a>
        ))}
        <a href={`/machines/plugin-lifecycle?plugin=${plugin.id}`}>Machine</a>
      </nav>
      <Tab key={`${plugin.id} ${tab}`} plugin={plugin} tab={tab} onUninstall={() => setRemoving(true)} />
      {removing ? <UninstallDialog plugin={plugin} onClose={() => setRemoving(false)} /> : null}
    </Page>
  )
}

function Tab({ plugin, tab, onUninstall }: { plugin: Plugin; tab: string; onUninstall(): void }) {
  switch (tab) {
    case 'settings':
      return <SettingsTab plugin={plugin} />
    case 'controls':
      return <ControlsTab plugin={plugin} />
    case 'objects':
      return <ObjectsTab plugin={plugin} />
    case 'events':
      return <EventsTab plugin={plugin} />
    case 'logs':
      return <LogsTab plugin={plugin} />
    case 'documents':
      return <DocumentsTab plugin={plugin} />
    case 'limits':
      return <LimitsTab plugin={plugin} />
    case 'history':
      return <HistoryTab plugin={plugin} />
    default:
      return <OverviewTab plugin={plugin} onUninstall={onUninstall} />
  }
}

/** Somebody may have typed the address with the short id. */
function withShortId(id: string): Plugin | undefined {
  const found = pluginList.value.filter(({ shortId }) => shortId === id)
  return found.length === 1 ? found[0] : undefined
}
