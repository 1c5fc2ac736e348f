import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalAddress, kindOfAddress } from '../../src/base/network/ip-address.ts'

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
