import type { Placement } from '../../schema/plugin/fleet-host.ts'
import type { JournalEvent, Plugin } from './types.ts'

/** What the host says of a fleet, in plain words. Pure. */

const list = new Intl.ListFormat('en', { type: 'conjunction' })

/** Where a plugin may run: continues "it runs". */
export function placementInWords({ host, labels = [] }: Placement): string {
  if (labels.length === 0) return host === undefined ? 'on any host' : `only on ${host}`
  const has = list.format(labels)
  return host === undefined ? `only on hosts with ${has}` : `only on ${host}, while it has ${has}`
}

const absences: Readonly<Record<string, string>> = {
  no_host: 'No live host is one that it may run on. It starts by itself as soon as there is one.',
  lease_lost:
    'The host that ran it is gone, or had lost touch with the rest of the fleet and stopped it, so that it never runs twice. It starts again by itself.',
}

/** Why a plugin that is on has no host at present; empty when that is not so. */
export function absenceInWords({ enabled, error }: Pick<Plugin, 'enabled' | 'error'>): string {
  return enabled && error !== null ? (absences[error.code] ?? '') : ''
}

/** What came with an event of a fleet; undefined: it is none. */
export function fleetDetailOf({ type, data }: JournalEvent): string | undefined {
  const { from, to, epoch, reason, host, hostVersion, labels } = data
  switch (type) {
    case 'PluginMoved':
      return `${wayOf(from, String(to))}, epoch ${String(epoch)}: ${String(reason)}`
    case 'PluginPlaced':
      return `it runs ${placementInWords(data.placement as Placement)}`
    case 'HostJoined': {
      const has =
        Array.isArray(labels) && labels.length > 0 ? `, with ${list.format(labels.map(String))}` : ''
      return `${String(host)}, version ${String(hostVersion)}${has}`
    }
    case 'HostDrainRequested':
    case 'HostDrainEnded':
      return String(host)
    default:
      return undefined
  }
}

function wayOf(from: unknown, to: string): string {
  if (typeof from !== 'string') return `to ${to}`
  return from === to ? `again on ${to}` : `from ${from} to ${to}`
}
