/** Hosts that a plugin may reach, as its manifest writes them: `name`, `name:port`, `*.name`, `*`. Pure. */

interface HostPattern {
  /** In lower case, without brackets; `*` for every host. */
  name: string
  /** Every name that ends with `.` and this one. */
  subdomains: boolean
  port: number | undefined
}

function parseHostPattern(text: string): HostPattern {
  // An IPv6 address with a port is in brackets; without them, it has more than one colon.
  const [, name = text, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? []
  const subdomains = name.startsWith('*.')
  return {
    name: hostKey(subdomains ? name.slice(2) : name),
    subdomains,
    port: port === undefined ? undefined : Number(port),
  }
}

/** What ends a host in an address. A look-up of names takes such characters, and would go elsewhere. */
const notOfHosts = /[/?#@\\%\s]/
/** What is in no name: a look-up ends at NUL, and `%` begins the zone of an address, whatever follows. */
const notOfNames = /[\u0000-\u0020\u007f/?#@\\%:\s]/

/** One way of writing for every way to write a host: lower case, punycode, IPv4 and IPv6 in full, no brackets. */
export function hostKey(host: string): string {
  const bare = host.replace(/^\[|\]$/g, '')
  if (notOfHosts.test(bare)) return bare.toLowerCase()
  const text = bare.includes(':') ? `[${bare}]` : bare
  try {
    return new URL(`http://${text}`).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  } catch {
    return bare.toLowerCase()
  }
}

/** Whether `pattern` allows connections to this host and port. */
export function hostMatches(pattern: string, host: string, port: number): boolean {
  const wanted = parseHostPattern(pattern)
  if (wanted.port !== undefined && wanted.port !== port) return false
  if (wanted.name === '*') return true
  const name = hostKey(host)
  if (!wanted.subdomains) return name === wanted.name
  return name.endsWith(`.${wanted.name}`) && !notOfNames.test(name)
}

/** Whether everything that `narrow` allows is allowed by `wide`. */
export function hostCovers(wide: string, narrow: string): boolean {
  const [left, right] = [parseHostPattern(wide), parseHostPattern(narrow)]
  if (left.port !== undefined && left.port !== right.port) return false
  if (left.name === '*') return true
  if (!left.subdomains) return !right.subdomains && left.name === right.name
  return right.name.endsWith(`.${left.name}`) || (right.subdomains && right.name === left.name)
}
