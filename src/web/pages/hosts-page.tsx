import { absenceInWords } from '../base/fleet-words.ts'
import type { FleetHost, Plugin } from '../base/types.ts'
import { countOf, compareText } from '../base/words.ts'
import { Empty, Loading, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { fleet } from '../store/host.ts'
import { pluginList, plugins } from '../store/plugins.ts'
import { useRemote } from '../store/remote.ts'
import { HostPanel, PluginLinks } from '../system/host-panel.tsx'

/** How often the hosts are read again, in milliseconds. */
const readInterval = 3_000

/** Who runs what, and the way to take a host out of it. */
export function HostsPage() {
  const known = fleet.value
  if (known === undefined || known === null) {
    return (
      <Page title="Hosts">
        {known === undefined ? (
          <Loading what="the hosts" />
        ) : (
          <Empty>This host works by itself. A fleet is several hosts that work as one.</Empty>
        )}
      </Page>
    )
  }
  return <Hosts name={known.name} self={known.host} />
}

function Hosts({ name, self }: { name: string; self: string | null }) {
  const remote = useRemote<{ hosts: FleetHost[] }>('/api/hosts', { interval: readInterval })
  const hosts = [...(remote.value?.hosts ?? [])].sort((one, other) => compareText(one.id, other.id))
  const all = pluginList.value.toSorted((one, other) => compareText(one.id, other.id))
  const waiting = all.filter((plugin) => absenceInWords(plugin) !== '')

  return (
    <Page title="Hosts" count={hosts.length > 0 && `${countOf(hosts.length, 'live host')} of ${name}`}>
      <p class="hint">
        To drain a host gives its plugins to the others, for an update or a repair. It takes none until the
        drain is ended.
      </p>
      <ReadState remote={remote} what="the hosts" />
      {/* Without the store it does not know so of itself. */}
      {remote.value?.hosts.length === 0 ? (
        <Empty>Which hosts are live cannot be told: the rest of the fleet cannot be reached from here.</Empty>
      ) : null}
      {waiting.length === 0 ? null : (
        <section class="panel">
          <h2>Without a host</h2>
          <p class="hint">These are on, and no host runs them at present. Each says on its page why.</p>
          <PluginLinks label="Plugins without a host" plugins={waiting} />
        </section>
      )}
      <div class="columns">
        {hosts.map((host) => (
          <HostPanel
            key={host.id}
            host={host}
            isSelf={host.id === self}
            plugins={plugins.value && all.filter((plugin: Plugin) => plugin.host === host.id)}
            onChanged={remote.reload}
          />
        ))}
      </div>
    </Page>
  )
}
