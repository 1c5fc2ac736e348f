import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { type SerializedJson, serializeJson } from '../../../src/base/text/serialized-json.ts'
import {
  createWatches,
  type PresentValue,
  type WatchedKind,
} from '../../../src/lifecycle/triggers/watches.ts'
import type { Watch } from '../../../src/schema/outside/trigger.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

function createStage() {
  const clock = createManualClock()
  const known: Record<WatchedKind, Map<string, PresentValue>> = { object: new Map(), point: new Map() }
  const told: [string, Json | undefined, Json | undefined][] = []
  const watches = createWatches(clock, (kind) => known[kind].values())
  let lastNumber = 0
  return {
    clock,
    told,
    watches,
    watch(
      pattern: string,
      more: Partial<Watch> = {},
      sees: (plugin: string) => boolean = () => true,
    ): number {
      lastNumber += 1
      const wanted: Watch = { of: 'point', pattern, now: true, stays: 0, debounce: 0, ...more }
      watches.add('@me/me', lastNumber, wanted, sees, (path, value, previous) =>
        told.push([path, value?.value(), previous?.value()]),
      )
      return lastNumber
    },
    set(plugin: string, id: string, json: Json | undefined, kind: WatchedKind = 'point'): number {
      const value: SerializedJson | undefined = json === undefined ? undefined : serializeJson(json)
      known[kind].set(`${plugin} ${id}`, { plugin, id, value })
      return watches.changed(kind, plugin, id, value)
    },
    /** What has been told since this was asked last. */
    take: () => told.splice(0),
  }
}

test('a watcher gets the present value, then what changes, and nil when it is gone', () => {
  const { set, watch, take } = createStage()
  set('@a/b', 'power', 1)
  watch('@a/b/power')
  assert.deepEqual(take(), [['@a/b/power', 1, undefined]])
  assert.equal(set('@a/b', 'power', 2), 1)
  set('@a/b', 'power', 2)
  set('@a/b', 'power', undefined)
  set('@a/b', 'power', 2)
  assert.deepEqual(take(), [
    ['@a/b/power', 2, 1],
    ['@a/b/power', undefined, 2],
    ['@a/b/power', 2, undefined],
  ])
})

test('equal values are no change, whatever the order of their members', () => {
  const { set, watch, take } = createStage()
  watch('plugins.a.b.state', { of: 'object' })
  set('@a/b', 'state', { x: 1, y: [2] }, 'object')
  set('@a/b', 'state', { y: [2], x: 1 }, 'object')
  set('@a/b', 'state', { y: [3], x: 1 }, 'object')
  assert.deepEqual(take(), [
    ['plugins.a.b.state', { x: 1, y: [2] }, undefined],
    ['plugins.a.b.state', { y: [3], x: 1 }, { x: 1, y: [2] }],
  ])
})

test('patterns stand for whole parts, and ** for all that follow', () => {
  const { set, watch, take } = createStage()
  watch('@a/*/power')
  watch('plugins.a.**', { of: 'object' })
  watch('plugins.*.b.room.*', { of: 'object' })
  set('@a/b', 'power', 1)
  set('@a/b', 'energy', 1)
  set('@c/b', 'power', 1)
  set('@c/b', 'room.x', 1, 'object')
  set('@c/b', 'room.x.y', 1, 'object')
  set('@a/b', 'room', 1, 'object')
  assert.deepEqual(
    take().map(([path]) => path),
    ['@a/b/power', 'plugins.c.b.room.x', 'plugins.a.b.room'],
  )
  assert.throws(() => watch('plugins.**.x', { of: 'object' }), /must be the last part/)
})

test('without now only changes are told, with what was there before', () => {
  const { set, watch, take } = createStage()
  set('@a/b', 'power', 1)
  watch('@a/b/*', { now: false })
  set('@a/b', 'power', 1)
  set('@a/b', 'power', 2)
  assert.deepEqual(take(), [['@a/b/power', 2, 1]])
})

test('with stays a value is told when it has been the same that long', () => {
  const { clock, set, watch, take } = createStage()
  set('@a/b', 'door', 'open')
  watch('@a/b/door', { stays: 60_000 })
  clock.advance(59_999)
  assert.deepEqual(take(), [])
  set('@a/b', 'door', 'open')
  clock.advance(1)
  assert.deepEqual(take(), [['@a/b/door', 'open', undefined]])
  set('@a/b', 'door', 'shut')
  clock.advance(30_000)
  set('@a/b', 'door', 'open')
  clock.advance(100_000)
  assert.deepEqual([take(), clock.waiting], [[], 0])
  set('@a/b', 'door', 'shut')
  clock.advance(60_000)
  assert.deepEqual(take(), [['@a/b/door', 'shut', 'open']])
})

test('with debounce the last of many is told, and the present one at once', () => {
  const { clock, set, watch, take } = createStage()
  set('@a/b', 'level', 0)
  watch('@a/b/level', { debounce: 500 })
  assert.deepEqual(take(), [['@a/b/level', 0, undefined]])
  for (let level = 1; level <= 5; level += 1) {
    set('@a/b', 'level', level)
    clock.advance(400)
  }
  assert.deepEqual(take(), [])
  clock.advance(100)
  assert.deepEqual(take(), [['@a/b/level', 5, 0]])
})

test('a plugin hears only of those that it may see', () => {
  const { set, watch, take } = createStage()
  watch('**', {}, (plugin) => plugin === '@a/b')
  set('@a/b', 'power', 1)
  assert.equal(set('@a/c', 'power', 1), 0)
  assert.deepEqual(
    take().map(([path]) => path),
    ['@a/b/power'],
  )
})

test('what nobody watches costs nothing, and what is taken back is not told any more', () => {
  const { clock, set, watch, take, watches } = createStage()
  assert.equal(set('@a/b', 'power', 1), 0)
  const number = watch('@a/b/power', { stays: 10 })
  assert.equal(watches.count('@me/me'), 1)
  watches.remove('@me/me', number)
  clock.advance(100)
  watch('@a/b/power', { debounce: 10 })
  set('@a/b', 'power', 2)
  take()
  watches.clear('@me/me')
  clock.advance(100)
  assert.deepEqual([take(), watches.count('@me/me'), clock.waiting, set('@a/b', 'power', 3)], [[], 0, 0, 0])
})
