import { getOrInsert } from '../../base/get-or-insert.ts'
import { isIPv4 } from 'node:net'
import type { DnsQuestion, DnsRecord } from './dns-message.ts'
import { goodbyeTime, type Lease, leaseOfRecord, shorten, takeDueQuery } from './lease.ts'

/** Addresses of the machines on which services are, as multicast DNS tells them (RFC 6762). Names count in any case. */
export interface HostAddresses {
  /** Takes those of machines in use. Answers the names of which something was said, in lower case. */
  take(records: readonly DnsRecord[], now: number): ReadonlySet<string>
  /** The best first. */
  of(host: string): string[]
  ask(host: string): void
  /** What is over goes, what will soon be is asked for again. */
  sweep(now: number): void
  dropUnused(): void
  leases(): Iterable<Lease>
  clear(): void
}

export interface HostAddressesSettings {
  ask(question: DnsQuestion): void
  /** Names of the machines on which something is, in lower case. */
  used(): ReadonlySet<string>
  /** Machines that may be known before those that nobody uses are dropped. */
  mostHosts(): number
}

/** Addresses of one host. */
const addressLimit = 16

type AddressRecord = DnsRecord & { type: 'A' | 'AAAA' }

export function createHostAddresses({ ask, used, mostHosts }: HostAddressesSettings): HostAddresses {
  /** Addresses by the name of their host. */
  const hosts = new Map<string, Map<string, Lease>>()

  function dropUnused(): void {
    const kept = used()
    for (const key of hosts.keys()) if (!kept.has(key)) hosts.delete(key)
  }

  return {
    take(records, now) {
      const touched = new Set<string>()
      const said = records.filter(isAddress)
      if (said.length === 0) return touched
      const wanted = used()
      for (const record of said) {
        const key = record.name.toLowerCase()
        if (!wanted.has(key)) continue
        if (hosts.size > mostHosts()) dropUnused()
        const known = getOrInsert(hosts, key, () => new Map())
        if (record.flush)
          for (const [address, lease] of known)
            // Those of one message go together.
            if (isIPv4(address) === (record.type === 'A') && lease.at < now) shorten(lease, now + goodbyeTime)
        if (record.seconds > 0 && !known.has(record.address) && known.size >= addressLimit) continue
        if (record.seconds > 0 || known.has(record.address))
          known.set(record.address, leaseOfRecord(now, record.seconds))
        touched.add(key)
      }
      return touched
    },
    of(host) {
      const all = [...(hosts.get(host.toLowerCase())?.keys() ?? [])]
      const rank = (address: string): number => (isIPv4(address) ? 0 : /^fe[89ab]/i.test(address) ? 2 : 1)
      return all.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
    },
    ask(host) {
      for (const type of ['A', 'AAAA'] as const) ask({ labels: hostLabels(host), type })
    },
    sweep(now) {
      for (const [name, addresses] of hosts)
        for (const [address, lease] of addresses) {
          if (lease.until <= now) addresses.delete(address)
          else if (takeDueQuery(lease, now))
            ask({ labels: hostLabels(name), type: isIPv4(address) ? 'A' : 'AAAA' })
        }
    },
    dropUnused,
    *leases() {
      for (const addresses of hosts.values()) yield* addresses.values()
    },
    clear: () => hosts.clear(),
  }
}

/** Whatever a stranger says a host is called. */
function hostLabels(host: string): string[] {
  return host.split('.').filter((label) => label !== '' && Buffer.byteLength(label) <= 63)
}

function isAddress(record: DnsRecord): record is AddressRecord {
  return record.type === 'A' || record.type === 'AAAA'
}
