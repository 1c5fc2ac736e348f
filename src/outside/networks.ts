import { constants, networkInterfaces } from 'node:os'
import { getSystemErrorName } from 'node:util'

export type AddressFamily = 'IPv4' | 'IPv6'

/** What `node:os` knows of the networks of this machine. */
export type ListNetworks = typeof networkInterfaces

/** Throws where the system does not tell, with what to do: Node has a number only. */
export const listNetworks: ListNetworks = () => {
  try {
    return networkInterfaces()
  } catch (error) {
    throw new Error(networkListFailure(error), { cause: error })
  }
}

const shortages: readonly (number | undefined)[] = [constants.errno.EMFILE, constants.errno.ENFILE]

/** What to do about an error of `networkInterfaces`, whose `errno` is the system's number. */
export function networkListFailure(error: unknown): string {
  const untold = 'the system does not tell the networks of this machine'
  const number = error instanceof Error && 'errno' in error ? Number(error.errno) : 0
  if (shortages.includes(number)) {
    return `${untold}, as when the host has too many files open; raise the limit (ulimit -n)`
  }
  // Linux is asked by such a socket.
  if (number === constants.errno.EAFNOSUPPORT) {
    return `${untold}, as in a service with RestrictAddressFamilies= where AF_NETLINK is missing; add it there`
  }
  return number > 0 ? `${untold} (${getSystemErrorName(-number)})` : untold
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
