import assert from 'node:assert/strict'
import type { LookupFunction } from 'node:net'
import { test } from 'node:test'
import { createFoundLookup } from '../../../src/outside/discovery/found-lookup.ts'

const otherwise: LookupFunction = (hostname, _options, callback) =>
  callback(null, `the system’s ${hostname}`, 4)
const lookup = createFoundLookup({
  addressesOf: (name) => (name === 'empty.local' ? [] : ['192.0.2.1', '2001:db8::1']),
  otherwise,
})
const answer = (hostname: string, options: Parameters<LookupFunction>[1]): unknown => {
  let found: unknown
  lookup(
    hostname,
    options,
    (_error, address, family) => (found = family === undefined ? address : [address, family]),
  )
  return found
}

test('a name of multicast DNS has the addresses that a search has found, of the family that is wanted', () => {
  const both = [
    { address: '192.0.2.1', family: 4 },
    { address: '2001:db8::1', family: 6 },
  ]
  assert.deepEqual(answer('Lamp.local', { all: true }), both)
  assert.deepEqual(answer('lamp.local.', { all: true, family: 0 }), both)
  assert.deepEqual(answer('lamp.local', {}), ['192.0.2.1', 4])
  assert.deepEqual(answer('lamp.local', { family: 6 }), ['2001:db8::1', 6])
  assert.deepEqual(answer('lamp.local', { family: 'IPv6', all: true }), [both[1]])
})

test('every other name is the system’s, whatever somebody on the network says', () => {
  for (const name of ['example.org', 'local', 'lamp.local.example.org', 'lamplocal', 'empty.local'])
    assert.deepEqual(answer(name, {}), [`the system’s ${name}`, 4])
})
