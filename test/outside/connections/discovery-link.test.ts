import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DiscoveryMemory, openDiscovery } from '../../../src/outside/connections/discovery-link.ts'
import type { Watcher } from '../../../src/outside/discovery/finder.ts'
import type { Finding } from '../../../src/schema/outside/discovery.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** A search whose network is the test's. */
function stage(seconds?: number) {
  const clock = createManualClock()
  const memory: DiscoveryMemory = {
    told: new Map(),
    until: seconds === undefined ? undefined : 1_000 * seconds,
  }
  /** `name:port`, `-name` when it goes, and what else is told. */
  const heard: string[] = []
  function open() {
    const watchers = new Set<Watcher>()
    const link = openDiscovery(
      '_a._tcp',
      memory,
      {
        watch(_wanted, watcher) {
          watchers.add(watcher)
          return () => void watchers.delete(watcher)
        },
        addressesOf: () => [],
      },
      clock,
      {
        opened: () => heard.push('opened'),
        message(payload) {
          const { name, port, gone } = JSON.parse(Buffer.from(payload).toString()) as Finding
          heard.push(gone ? `-${name}` : `${name}:${port}`)
        },
        silence: () => undefined,
        ended: ({ reason, refused = false }) => heard.push(`ended: ${reason}${refused ? ', for good' : ''}`),
        warn: (message) => heard.push(message),
      },
    )
    const [watcher] = watchers
    assert.ok(watcher)
    return {
      ...{ link, watcher, watchers },
      find: (name: string, port = 80) =>
        watcher.tell(name, { name, host: `${name}.local`, addresses: ['192.0.2.1'], port, txt: [] }),
      lose: (name: string) => watcher.tell(name, undefined),
    }
  }
  return { clock, heard, open }
}

test('while nobody takes it the last of each thing is kept, and nothing of what came and went', () => {
  const { heard, open } = stage()
  const { link, find, lose } = open()
  find('old')
  find('same')
  heard.splice(0)
  link.pause()
  find('passing')
  lose('passing')
  find('new', 80)
  find('passing', 81)
  find('new', 82)
  lose('old')
  lose('same')
  find('same')
  assert.deepEqual(heard, [])
  link.resume()
  assert.deepEqual(heard.splice(0), ['new:82', 'passing:81', '-old'])
  find('old')
  find('old')
  lose('never seen')
  find('new', 83)
  link.pause()
  link.resume()
  assert.deepEqual(heard, ['old:80', 'new:83'])
  link.destroy()
})

test('what an earlier attempt has told is not told again, and goes when ten seconds have not found it', () => {
  const { clock, heard, open } = stage()
  const first = open()
  first.watcher.ready()
  first.find('lasting')
  first.find('leaving')
  first.watcher.failed('no network')
  assert.deepEqual(heard.splice(0), ['opened', 'lasting:80', 'leaving:80', 'ended: no network'])
  assert.deepEqual([first.watchers.size, clock.waiting], [0, 0])
  const second = open()
  clock.advance(60_000)
  second.watcher.ready()
  second.find('lasting')
  clock.advance(9_999)
  assert.deepEqual(heard.splice(0), ['opened'])
  clock.advance(1)
  assert.deepEqual(heard.splice(0), ['-leaving'])
  second.link.close()
  assert.deepEqual([heard, second.watchers.size, clock.waiting], [['ended: null'], 0, 0])
})

test('a search of some seconds ends after them, whatever happens meanwhile, and leaves nothing', () => {
  const { clock, heard, open } = stage(5)
  const first = open()
  first.watcher.ready()
  clock.advance(4_000)
  first.watcher.failed('no network')
  const second = open()
  second.watcher.ready()
  clock.advance(999)
  assert.deepEqual(heard.splice(0), ['opened', 'ended: no network', 'opened'])
  clock.advance(1)
  assert.deepEqual(heard.splice(0), ['ended: null, for good'])
  assert.deepEqual([second.watchers.size, clock.waiting], [0, 0])
  const late = open()
  late.watcher.failed('no network')
  assert.deepEqual([heard, clock.waiting], [['ended: null, for good'], 0])
  const destroyed = stage(5)
  destroyed.open().link.destroy()
  destroyed.clock.advance(5_000)
  assert.deepEqual([destroyed.heard, destroyed.clock.waiting], [[], 0])
})
