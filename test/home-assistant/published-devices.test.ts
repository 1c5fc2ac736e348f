import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createPublishedDevices,
  foreignBytesLimit,
  foreignLimit,
} from '../../src/home-assistant/published-devices.ts'

/** What others have announced, as a plugin could that publishes on ever new topics. */
function announced(bytes: number, mayCollide: (plugin: string, other: string) => boolean = () => false) {
  const dropped: string[] = []
  const published = createPublishedDevices({
    dropped: (topic) => void dropped.push(topic),
    mayCollide,
    precedes: () => false,
    lost: () => undefined,
  })
  function announce(name: string): void {
    const address = { plugin: '@acme/lamp', device: name }
    published.keepForeign({ ...address, topic: name, bytes, read: () => undefined })
  }
  return { published, dropped, announce, kept: () => published.foreignDevices().map(({ topic }) => topic) }
}

test('Of what others announce the newest is kept: so many topics', () => {
  const { announce, kept, dropped } = announced(0)
  for (let count = 0; count < foreignLimit + 2; count += 1) announce(String(count))
  assert.equal(kept().length, foreignLimit)
  assert.deepEqual([dropped, kept()[0]], [['0', '1'], '2'])
})

test('Of what others announce the newest is kept: so many bytes, and what has gone counts no more', () => {
  const { published, announce, kept, dropped } = announced(foreignBytesLimit / 4 - 10)
  for (const name of ['a', 'b', 'c', 'd']) announce(name)
  published.forgetForeign('b')
  // In the place of itself, too.
  announce('c')
  announce('e')
  assert.deepEqual([dropped, kept()], [[], ['a', 'd', 'c', 'e']])
  announce('f')
  assert.deepEqual([dropped, kept()], [['a'], ['d', 'c', 'e', 'f']])
})

test('Whoever takes a plugin over after that is told once that it has to be read again', () => {
  const { published, announce } = announced(foreignBytesLimit / 2)
  announce('a')
  assert.equal(published.takeOver('@acme/hall'), false)
  announce('b')
  announce('c')
  assert.equal(published.takeOver('@acme/hall'), false, 'it was taken over before')
  assert.equal(published.takeOver('@acme/attic'), true)
  assert.equal(published.takeOver('@acme/cellar'), false, 'all has been read meanwhile')
  announce('d')
  announce('e')
  published.handOver('@acme/attic')
  assert.equal(published.takeOver('@acme/attic'), true)
})

test('What another host announces is read where a plugin of this host is written alike, while that one has a device', () => {
  const { published } = announced(0, (plugin, other) => plugin === '@acme/hall' && other === '@acme/lamp')
  const own = { platforms: new Map(), uniqueIds: new Map(), text: '{}' }
  let reads = 0
  const read = (): undefined => void (reads += 1)
  const announce = (): void =>
    published.keepForeign({
      ...{ plugin: '@acme/lamp', device: undefined, topic: 'lamp', bytes: 2 },
      ...{ isUnread: true, read },
    })
  for (const device of ['one', 'two'])
    published.keep({ ...own, plugin: '@acme/hall', device, topic: `hall/${device}` })
  assert.deepEqual(
    published.ofPlugin('@acme/hall').map(([key]) => key),
    ['@acme/hall/one', '@acme/hall/two'],
  )
  announce()
  published.forget('@acme/hall/one')
  announce()
  assert.equal(reads, 2)
  published.forget('@acme/hall/two')
  announce()
  assert.deepEqual([reads, published.ofPlugin('@acme/hall')], [2, []])
})
