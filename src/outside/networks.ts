import { networkInterfaces } from 'node:os'

export type AddressFamily = 'IPv4' | 'IPv6'

/** What `node:os` knows of the networks of this machine. */
export type ListNetworks = typeof networkInterfaces

/**
 * The networks of this machine, loopback included, as one joins a group on them: by an address of this machine's for IPv4, by
 * their name for IPv6.
 */
export function networksOf(family: AddressFamily, list: ListNetworks = networkInterfaces): string[] {
  return Object.entries(list()).flatMap(([name, addresses = []]) => {
    const [first] = addresses.filter((one) => one.family === family)
    if (first === undefined) return []
    return [family === 'IPv4' ? first.address : name]
  })
}
