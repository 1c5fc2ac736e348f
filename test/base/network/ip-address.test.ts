import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalAddress, kindOfAddress } from '../../../src/base/network/ip-address.ts'

const cases: [text: string, canonical: string | undefined, kind: ReturnType<typeof kindOfAddress>][] = [
  ['127.0.0.1', '127.0.0.1', 'loopback'],
  ['127.255.3.4', '127.255.3.4', 'loopback'],
  ['::1', '0:0:0:0:0:0:0:1', 'loopback'],
  ['[::1]', '0:0:0:0:0:0:0:1', 'loopback'],
  ['0:0::0:1', '0:0:0:0:0:0:0:1', 'loopback'],
  ['::1%lo', '0:0:0:0:0:0:0:1', 'loopback'],
  ['::ffff:127.0.0.1', '127.0.0.1', 'loopback'],
  ['::FFFF:7f00:1', '127.0.0.1', 'loopback'],
  ['0:0:0:0:0:ffff:7f00:0001', '127.0.0.1', 'loopback'],
  ['::127.0.0.1', '127.0.0.1', 'loopback'],
  ['64:ff9b::127.0.0.1', '127.0.0.1', 'loopback'],
  ['64:ff9b::8.8.8.8', '8.8.8.8', 'public'],
  ['64:ff9b:1::127.0.0.1', '64:ff9b:1:0:0:0:7f00:1', 'private'],
  ['64:ff9b:10::1', '64:ff9b:10:0:0:0:0:1', 'public'],
  ['0.0.0.0', '0.0.0.0', 'unspecified'],
  ['0.1.2.3', '0.1.2.3', 'unspecified'],
  ['::', '0:0:0:0:0:0:0:0', 'unspecified'],
  ['::ffff:0:0', '0.0.0.0', 'unspecified'],
  ['10.1.2.3', '10.1.2.3', 'private'],
  ['11.0.0.0', '11.0.0.0', 'public'],
  ['9.255.255.255', '9.255.255.255', 'public'],
  ['100.63.255.255', '100.63.255.255', 'public'],
  ['100.64.0.1', '100.64.0.1', 'private'],
  ['172.15.255.255', '172.15.255.255', 'public'],
  ['172.16.0.1', '172.16.0.1', 'private'],
  ['172.31.255.255', '172.31.255.255', 'private'],
  ['172.32.0.0', '172.32.0.0', 'public'],
  ['192.168.178.1', '192.168.178.1', 'private'],
  ['192.169.0.1', '192.169.0.1', 'public'],
  ['169.254.169.254', '169.254.169.254', 'link-local'],
  ['::ffff:192.168.0.1', '192.168.0.1', 'private'],
  ['224.0.0.251', '224.0.0.251', 'multicast'],
  ['255.255.255.255', '255.255.255.255', 'private'],
  ['8.8.8.8', '8.8.8.8', 'public'],
  ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1', 'link-local'],
  ['fd00::1', 'fd00:0:0:0:0:0:0:1', 'private'],
  ['fc00::', 'fc00:0:0:0:0:0:0:0', 'private'],
  ['fec0::1', 'fec0:0:0:0:0:0:0:1', 'private'],
  ['ff02::fb', 'ff02:0:0:0:0:0:0:fb', 'multicast'],
  ['2001:db8::8a2e:370:7334', '2001:db8:0:0:0:8a2e:370:7334', 'public'],
  ['2001:0DB8:0:0:0:0:0:1', '2001:db8:0:0:0:0:0:1', 'public'],
  ['localhost', undefined, undefined],
  ['127.1', undefined, undefined],
  ['1.2.3.4.5', undefined, undefined],
  ['::g', undefined, undefined],
  ['', undefined, undefined],
  ['[', undefined, undefined],
]

test('every way to write an address has one text and one kind', () => {
  assert.deepEqual(
    cases.map(([text]) => [text, canonicalAddress(text), kindOfAddress(text)]),
    cases,
  )
})

const all = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff'
const networks: [before: string, first: string, last: string, after: string, kind: string][] = [
  ['255.255.255.255', '0.0.0.0', '0.255.255.255', '1.0.0.0', 'unspecified'],
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0', 'private'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0', 'private'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0', 'loopback'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0', 'link-local'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0', 'private'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0', 'private'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0', 'private'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0', 'private'],
  ['223.255.255.255', '224.0.0.0', '239.255.255.255', '240.0.0.0', 'multicast'],
  ['239.255.255.255', '240.0.0.0', '255.255.255.255', '0.0.0.0', 'private'],
  [`fbff:${all}`, 'fc00::', `fdff:${all}`, 'fe00::', 'private'],
  [`fe7f:${all}`, 'fe80::', `febf:${all}`, 'fec0::', 'link-local'],
  [`febf:${all}`, 'fec0::', `feff:${all}`, 'ff00::', 'private'],
  [`feff:${all}`, 'ff00::', `ffff:${all}`, '::', 'multicast'],
  ['::1', '::0.0.0.2', '::0.255.255.255', '::1.0.0.0', 'unspecified'],
]

test('a network begins and ends where its leading bits say', () => {
  for (const [before, first, last, after, kind] of networks) {
    assert.deepEqual([first, last].map(kindOfAddress), [kind, kind], `${first} to ${last}`)
    assert.ok(![before, after].some((text) => kindOfAddress(text) === kind), `${before}, ${after}`)
  }
})
