import type { Clock } from '../../base/time/clock.ts'
import type { ListNetworks } from '../networks.ts'
import { createDnsSd, multicastDns } from './dns-sd.ts'
import { createFinder, type Finder } from './finder.ts'
import { createSsdp, ssdpPlace } from './ssdp.ts'

export interface Finders {
  discovery: Finder
  ssdp: Finder
}

/** Where it differs from what the protocols say. */
export interface FindersSettings {
  ports?: { discovery: number; ssdp: number }
  networks?: ListNetworks
}

/** One of each for the whole host. */
export function createFinders(clock: Clock, { ports, networks }: FindersSettings): Finders {
  const dns = { ...multicastDns, port: ports?.discovery ?? multicastDns.port }
  const ssdp = { ...ssdpPlace, port: ports?.ssdp ?? ssdpPlace.port }
  return {
    discovery: createFinder({ clock, networks, place: dns, protocol: createDnsSd }),
    ssdp: createFinder({ clock, networks, place: ssdp, protocol: (context) => createSsdp(context, ssdp) }),
  }
}
