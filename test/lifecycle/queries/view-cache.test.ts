import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialPlugin } from '../../../src/journal/fold/evolve.ts'
import { createViewCache } from '../../../src/lifecycle/queries/view-cache.ts'
import { ownsAll } from '../../../src/lifecycle/ownership.ts'
import type { Manifest } from '../../../src/schema/manifest/manifest.ts'
import { noResources, type Plugin } from '../../../src/schema/plugin/plugin.ts'

test('a view stays the same object until something that it shows is another', () => {
  const viewOf = createViewCache(() => ({}) as Plugin)
  const snapshot = initialPlugin('@a/b')
  const manifest = {} as Manifest
  const whereabouts = ownsAll.whereabouts('@a/b')
  const surroundings = { manifest, resources: noResources, isolation: undefined, whereabouts }
  const first = viewOf(snapshot, surroundings)
  assert.equal(viewOf(snapshot, { ...surroundings, resources: { ...noResources } }), first)
  const others = [
    [initialPlugin('@a/b'), surroundings],
    [snapshot, { ...surroundings, manifest: {} as Manifest }],
    [snapshot, { ...surroundings, resources: { ...noResources, timers: 1 } }],
    [snapshot, { ...surroundings, isolation: 'shared' as const }],
    [snapshot, { ...surroundings, whereabouts: { ...whereabouts, host: 'a' } }],
  ] as const
  for (const [of, now] of others) assert.notEqual(viewOf(of, now), first)
})
