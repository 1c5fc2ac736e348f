import { isIPv4, isIPv6 } from 'node:net'

/** What an address means to the machine that connects to it. */
export type AddressKind = 'loopback' | 'unspecified' | 'link-local' | 'private' | 'multicast' | 'public'

/** By the leading bits of an IPv4 address (RFC 6890 and RFC 6598). */
const kindsOfIPv4: readonly [network: string, bits: number, kind: AddressKind][] = [
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'private'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'private'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'private'],
]

/** IPv6 networks whose last 32 bits are an IPv4 address: mapped, compatible, and translated (RFC 6052). */
const carriersOfIPv4: readonly string[] = ['0:0:0:0:0:ffff', '0:0:0:0:0:0', '64:ff9b:0:0:0:0']

/**
 * The one text of an address: an IPv4 address in IPv6 clothes is the IPv4 address; IPv6 has all its eight groups.
 * Brackets and zones are left out. Undefined: it is no address.
 */
export function canonicalAddress(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return undefined
  const groups = groupsOf(bare.split('%', 1)[0] ?? '')
  const [high = 0, low = 0] = groups.slice(6)
  const network = groups.slice(0, 6).map((group) => group.toString(16))
  // `::` and `::1` look like the IPv4 addresses 0.0.0.0 and 0.0.0.1.
  const carries = carriersOfIPv4.includes(network.join(':')) && !(network[5] === '0' && high === 0 && low < 2)
  if (carries) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  return groups.map((group) => group.toString(16)).join(':')
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const dots = address.lastIndexOf(':') + 1
  const last = address.slice(dots)
  const hexadecimal = isIPv4(last) ? address.slice(0, dots) + hexadecimalOf(last) : address
  const [front = '', back] = hexadecimal.split('::')
  const head = front === '' ? [] : front.split(':')
  const tail = back === undefined || back === '' ? [] : back.split(':')
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
}

function hexadecimalOf(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

/** Undefined when the text is no address. */
export function kindOfAddress(text: string): AddressKind | undefined {
  const address = canonicalAddress(text)
  if (address === undefined) return undefined
  if (isIPv4(address)) {
    const number = numberOf(address)
    const found = kindsOfIPv4.find(([network, bits]) => (number ^ numberOf(network)) >>> (32 - bits) === 0)
    return found?.[2] ?? 'public'
  }
  const first = Number.parseInt(address, 16)
  if (address === '0:0:0:0:0:0:0:1') return 'loopback'
  if (address === '0:0:0:0:0:0:0:0') return 'unspecified'
  if (first >= 0xfe80 && first <= 0xfebf) return 'link-local'
  if (first >= 0xff00) return 'multicast'
  // A network's own translation to IPv4 (RFC 8215): where in it the IPv4 address stands is up to its owner.
  if (address.startsWith('64:ff9b:1:')) return 'private'
  // Unique local addresses, and the site-local ones before them.
  if ((first >= 0xfc00 && first <= 0xfdff) || (first >= 0xfec0 && first <= 0xfeff)) return 'private'
  return 'public'
}

function numberOf(address: string): number {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}
