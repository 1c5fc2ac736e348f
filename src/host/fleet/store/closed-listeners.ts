import { lookup } from 'node:dns/promises'
import type { Clock, ScheduledCall } from '../../../base/time/clock.ts'
import { canonicalAddress } from '../../../base/network/ip-address.ts'
import { hostOfAddress } from '../../../base/network/loopback.ts'
import type { HostState } from '../../../journal/fold/evolve.ts'

/** Where the hosts of a fleet and its store listen: whoever gets there commands all of them, so no plugin does. */
export interface ClosedListeners {
  ports(): readonly number[]
  /** Addresses of those machines, as far as their names have been looked up. */
  addresses(): readonly string[]
  close(): void
}

/** Milliseconds between two looks at what names mean. */
const lookUpEvery = 30_000

const defaultPorts: Readonly<Record<string, number>> = {
  ...{ 'nats:': 4_222, 'tls:': 4_222, 'ws:': 80, 'wss:': 443, 'http:': 80, 'https:': 443 },
}

export function createClosedListeners(settings: {
  /** Addresses of the store. */
  servers: readonly string[]
  state: () => HostState
  clock: Clock
  /** All addresses of a name; default: the system's. */
  find?: (name: string) => Promise<string[]>
}): ClosedListeners {
  const { servers, state, clock, find = findAddresses } = settings
  const found = new Map<string, readonly string[]>()
  let members: unknown
  let ports: readonly number[] = []
  let hosts: readonly string[] = []
  let timer: ScheduledCall | undefined
  let isClosed = false

  /** Hosts come seldom: what follows from them is worked out once. */
  function refresh(): void {
    const present = state().host.context.members
    if (present === members && ports.length > 0) return
    members = present
    const all = [...servers, ...Object.values(present ?? {}).map(({ address }) => address)]
    const parsed = all.filter((address) => URL.canParse(address)).map((address) => new URL(address))
    ports = [...new Set(parsed.map(({ port, protocol }) => Number(port) || (defaultPorts[protocol] ?? 0)))]
    hosts = [...new Set(parsed.map(({ href }) => hostOfAddress(href)))]
    void lookUp()
  }

  async function lookUp(): Promise<void> {
    await Promise.all(
      hosts.map(async (host) => {
        const literal = canonicalAddress(host)
        const addresses = literal === undefined ? await find(host).catch(() => undefined) : [literal]
        if (addresses !== undefined) found.set(host, addresses)
      }),
    )
  }

  function again(): void {
    timer = clock.schedule(lookUpEvery, () => {
      void lookUp().then(() => {
        if (!isClosed) again()
      })
    })
  }
  again()

  return {
    ports() {
      refresh()
      return ports
    },
    addresses() {
      refresh()
      return hosts.flatMap((host) => found.get(host) ?? [])
    },
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

async function findAddresses(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}
