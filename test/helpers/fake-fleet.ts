import { Problem } from '../../src/base/problem.ts'
import type { Fleet, LifecycleFacade } from '../../src/lifecycle/facade.ts'
import type { Announcement, Lifecycle } from '../../src/lifecycle/lifecycle.ts'
import type { FleetHost } from '../../src/schema/plugin/fleet-host.ts'
import type { Fact, JournalEventView } from '../../src/schema/journal/journal-event.ts'
import type { Plugin } from '../../src/schema/plugin/plugin.ts'

export function fleetHostNamed(id: string, rest: Partial<FleetHost> = {}): FleetHost {
  return {
    id,
    address: `http://${id}.example:3000`,
    labels: [],
    plugins: 0,
    since: '2024-01-01T00:00:00.000Z',
    seen: '2024-01-01T00:00:00.000Z',
    version: '1.2.3',
    draining: false,
    ...rest,
  }
}

type Whereabouts = Partial<
  Pick<Plugin, 'host' | 'epoch' | 'placement' | 'stale' | 'state' | 'enabled' | 'error'>
>

/**
 * The plugins of one lifecycle, shown as those of a fleet of these hosts: who runs what is a table, and what happens to
 * it is told like any other fact. A drained host is empty at once. Nothing else may happen to the plugins meanwhile.
 */
export function createFakeFleet(lifecycle: Lifecycle, hosts: FleetHost[]) {
  const calls: unknown[][] = []
  const where = new Map<string, Whereabouts>()
  const facts: JournalEventView[] = []
  const listeners = new Set<(announcement: Announcement) => void>()

  const shown = (plugin: Plugin): Plugin => ({ ...plugin, ...where.get(plugin.id) })

  function find(id: string): FleetHost {
    const found = hosts.find((host) => host.id === id)
    if (found === undefined) throw new Problem('host_unknown', `No live host is called ${id}.`)
    return found
  }

  function tell(fact: Fact): void {
    const seq = lifecycle.lastSeq + facts.length + 1
    const state = fact.plugin === null ? 'ready' : shown(lifecycle.get(fact.plugin)).state
    const { host = null, epoch = null } = fact.plugin === null ? {} : (where.get(fact.plugin) ?? {})
    const rest = { id: `fact-${seq}`, at: new Date(0).toISOString(), by: 'http', revision: 9 } as const
    const event: JournalEventView = { ...fact, ...rest, seq, state, host, epoch }
    facts.push(event)
    for (const listener of listeners) listener({ kind: 'lifecycle', event })
  }

  function move(plugin: string, to: string, reason: string): void {
    const { host = null, epoch = null } = where.get(plugin) ?? {}
    where.set(plugin, { ...where.get(plugin), host: to, epoch: (epoch ?? 0) + 1 })
    tell({ type: 'PluginMoved', plugin, data: { from: host, to, epoch: (epoch ?? 0) + 1, reason } })
  }

  const fleet: Fleet = {
    hosts: () =>
      hosts.map((host) => ({
        ...host,
        plugins: [...where.values()].filter((one) => one.host === host.id).length,
      })),
    async drain(id, context) {
      calls.push(['drain', id, context])
      const host = find(id)
      const other = hosts.find((one) => one !== host && !one.draining)
      if (other === undefined) {
        throw new Problem('no_other_host', `No other host can take the plugins of ${id}.`)
      }
      host.draining = true
      tell({ type: 'HostDrainRequested', plugin: null, data: { host: id } })
      for (const [plugin, { host: of }] of where)
        if (of === id) move(plugin, other.id, `${id} is being drained`)
      return fleet.hosts().find((one) => one.id === id) ?? host
    },
    async endDrain(id, context) {
      calls.push(['endDrain', id, context])
      const host = find(id)
      host.draining = false
      tell({ type: 'HostDrainEnded', plugin: null, data: { host: id } })
      return fleet.hosts().find((one) => one.id === id) ?? host
    },
    async place(id, placement, context) {
      calls.push(['place', id, placement, context])
      const plugin = lifecycle.get(id)
      where.set(id, { ...where.get(id), placement })
      tell({ type: 'PluginPlaced', plugin: id, data: { placement } })
      if (placement.host !== undefined && placement.host !== where.get(id)?.host)
        move(id, placement.host, 'it may not stay')
      return shown(plugin)
    },
  }

  const facade: Partial<LifecycleFacade> = {
    list: async () => lifecycle.list().map(shown),
    get: async (id) => shown(lifecycle.get(id)),
    history: ({ plugin, after = 0, limit = 1_000 }) =>
      [...lifecycle.history({ ...(plugin === undefined ? {} : { plugin }), after, limit }), ...facts]
        .filter((event) => event.seq > after && (plugin === undefined || event.plugin === plugin))
        .slice(0, limit),
    stateAt: (seq) => ({ ...lifecycle.stateAt(Math.min(seq, lifecycle.lastSeq)), seq }),
    subscribe(listener) {
      const stop = lifecycle.subscribe(listener)
      listeners.add(listener)
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    get lastSeq() {
      return lifecycle.lastSeq + facts.length
    },
  }

  return {
    fleet,
    calls,
    /** What the rest of the lifecycle is asked, with the plugins where they are. */
    facade: Object.defineProperties(
      {},
      { ...Object.getOwnPropertyDescriptors(lifecycle), ...Object.getOwnPropertyDescriptors(facade) },
    ) as LifecycleFacade,
    /** Says where a plugin is, or how it stands because of that. */
    put: (plugin: string, whereabouts: Whereabouts): void => void where.set(plugin, whereabouts),
  }
}
