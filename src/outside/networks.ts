import { networkInterfaces } from 'node:os'

export type AddressFamily = 'IPv4' | 'IPv6'

/** What `node:os` knows of the networks of this machine. */
export type ListNetworks = typeof networkInterfaces

/** Throws where the system does not tell, with what to do: Node has a number only. */
export const listNetworks: ListNetworks = () => {
  try {
    return networkInterfaces()
  } catch (error) {
    throw new Error(
      'the system does not tell the networks of this machine, as when the host has too many files open; raise the limit (ulimit -n)',
      { cause: error },
    )
  }
}

/**
 * The networks of this machine, loopback included, as one joins a group on them: by an address of this machine's for IPv4, by
 * their name for IPv6.
 */
export function networksOf(family: AddressFamily, list: ListNetworks = listNetworks): string[] {
  return Object.entries(list()).flatMap(([name, addresses = []]) => {
    const [first] = addresses.filter((one) => one.family === family)
    if (first === undefined) return []
    return [family === 'IPv4' ? first.address : name]
  })
}
