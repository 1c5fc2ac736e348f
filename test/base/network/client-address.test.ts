import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import {
  clientNetwork,
  createClientAddresses,
  parseNetwork,
} from '../../../src/base/network/client-address.ts'

function requestFrom(peer: string, forwarded: string | undefined): IncomingMessage {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: peer })
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return { socket, headers } as unknown as IncomingMessage
}

test('a client is who a trusted proxy says; whoever else says something is the client', () => {
  const addresses = createClientAddresses(['10.0.0.0/8', '::1', '2001:db8::/32'])
  const table: [peer: string, forwarded: string | undefined, client: string][] = [
    ['192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['10.1.2.3', '198.51.100.7', '198.51.100.7'],
    ['::ffff:10.1.2.3', '198.51.100.7', '198.51.100.7'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['10.1.2.3', '198.51.100.7, 10.0.0.9', '198.51.100.7'],
    ['10.1.2.3', '10.0.0.8, 10.0.0.9', '10.0.0.8'],
    ['10.1.2.3', '198.51.100.7, somebody', '10.1.2.3'],
    ['10.1.2.3', '198.51.100.7:4711', '198.51.100.7'],
    ['::1', '[2001:dead::1]:4711', '2001:dead:0:0:0:0:0:1'],
    ['2001:db8::5', '::ffff:198.51.100.7', '198.51.100.7'],
  ]
  for (const [peer, forwarded, client] of table) {
    assert.equal(addresses.ofRequest(requestFrom(peer, forwarded)), client, `${peer} ${forwarded}`)
  }
  assert.deepEqual(
    ['10.9.9.9', '192.0.2.1'].map((peer) => addresses.isProxy(requestFrom(peer, undefined).socket)),
    [true, false],
  )
})

test('an address or a network is one of IPv4 or IPv6', () => {
  const right = ['10.0.0.0/8', '192.0.2.1', '::1', '2001:db8::/32', '10.0.0.0/0']
  const wrong = ['', 'proxy', '10.0.0.0/33', '::/129', '10.0.0/8', '10.0.0.0/', '10.0.0.0/8/8']
  assert.ok(right.every((text) => parseNetwork(text) !== undefined))
  assert.deepEqual(
    wrong.filter((text) => parseNetwork(text) !== undefined),
    [],
  )
})

test('a client with IPv4 is its address, one with IPv6 the 64 bits that its network has', () => {
  const table: [address: string, network: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:db8:1:3::', '2001:db8:1:3'],
    ['', ''],
  ]
  assert.deepEqual(
    table.map(([address]) => [address, clientNetwork(address)]),
    table,
  )
})
