import assert from 'node:assert/strict'
import { isIPv4 } from 'node:net'
import { test } from 'node:test'
import type { DnsRecord } from '../../../src/outside/discovery/dns-message.ts'
import { createHostAddresses } from '../../../src/outside/discovery/host-addresses.ts'

function createStage(...names: string[]) {
  const used = new Set(names)
  const asked: string[] = []
  const addresses = createHostAddresses({
    ask: ({ labels, type }) => void asked.push(`${type} ${labels.join('.')}`),
    used: () => used,
    mostHosts: () => 2,
  })
  return {
    ...{ addresses, used },
    asked: () => asked.splice(0),
    left: () => [...addresses.leases()].length,
  }
}

const record = (address: string, { name = 'Lamp.local', seconds = 100, flush = false } = {}): DnsRecord => ({
  ...{ name, seconds, flush, address },
  type: isIPv4(address) ? 'A' : 'AAAA',
})

test('a machine has the addresses that were said of it, those of IPv4 first, and of others none are kept', () => {
  const { addresses, left } = createStage('lamp.local')
  const said = ['fe80::1', 'fec0::2', '212.0.2.9', '192.0.2.1', '2001:db8::1'].map((address) =>
    record(address),
  )
  const others = [
    record('192.0.2.3', { name: 'other.local' }),
    { type: 'PTR', name: 'lamp.local', seconds: 100, target: 'x' } as const,
  ]
  assert.deepEqual(addresses.take([...said, ...others], 0), new Set(['lamp.local']))
  assert.deepEqual(addresses.of('LAMP.local'), [
    ...['192.0.2.1', '212.0.2.9'],
    ...['2001:db8::1', 'fec0::2', 'fe80::1'],
  ])
  assert.deepEqual([addresses.of('other.local'), left()], [[], 5])
  addresses.clear()
  assert.equal(left(), 0)
})

test('an address that says goodbye ends in a second, and so do those that others take the place of', () => {
  const { addresses } = createStage('lamp.local')
  const at = (now: number): string[] => {
    addresses.sweep(now)
    return addresses.of('lamp.local')
  }
  addresses.take(
    ['192.0.2.1', '192.0.2.2', 'fe80::1'].map((address) => record(address)),
    0,
  )
  addresses.take([record('192.0.2.1', { seconds: 0 }), record('192.0.2.7', { seconds: 0 })], 1_000)
  assert.deepEqual(at(1_999), ['192.0.2.1', '192.0.2.2', 'fe80::1'])
  assert.deepEqual(at(2_000), ['192.0.2.2', 'fe80::1'])
  // All of one message stay, and those of the other kind.
  const together = ['192.0.2.4', '192.0.2.5'].map((address) => record(address, { flush: true }))
  addresses.take([record('192.0.2.3'), ...together], 3_000)
  assert.deepEqual(at(3_999), ['192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5', 'fe80::1'])
  assert.deepEqual(at(4_000), ['192.0.2.3', '192.0.2.4', '192.0.2.5', 'fe80::1'])
})

test('addresses are asked for, and again before they end', () => {
  const { addresses, asked } = createStage('lamp.local')
  addresses.ask('lamp.local.')
  assert.deepEqual(asked(), ['A lamp.local', 'AAAA lamp.local'])
  addresses.take([record('192.0.2.1'), record('fe80::1', { seconds: 200 })], 0)
  const askedAt = (now: number): string[] => {
    addresses.sweep(now)
    return asked()
  }
  assert.deepEqual([askedAt(79_999), askedAt(80_000), askedAt(81_000)], [[], ['A lamp.local'], []])
  assert.deepEqual([askedAt(100_000), askedAt(160_000)], [[], ['AAAA lamp.local']])
  // What cannot be asked for is left out, and harms nothing.
  addresses.ask(`${'x'.repeat(64)}.local`)
  assert.deepEqual(asked(), ['A local', 'AAAA local'])
})

test('of one machine sixteen addresses are kept, and of machines that nobody uses any more none', () => {
  const { addresses, used, left } = createStage('lamp.local')
  for (let count = 1; count <= 20; count += 1) addresses.take([record(`192.0.2.${count}`)], 0)
  assert.equal(left(), 16)
  // One that is known is believed further.
  addresses.take([record('192.0.2.1')], 50_000)
  addresses.sweep(100_000)
  assert.deepEqual(addresses.of('lamp.local'), ['192.0.2.1'])

  for (const name of ['a.local', 'b.local', 'c.local']) {
    used.add(name)
    addresses.take([record('192.0.2.1', { name })], 100_000)
  }
  used.delete('lamp.local')
  used.delete('a.local')
  assert.equal(left(), 4)
  addresses.take([record('192.0.2.2', { name: 'b.local' })], 100_000)
  assert.deepEqual([left(), addresses.of('a.local'), addresses.of('lamp.local')], [3, [], []])
})
