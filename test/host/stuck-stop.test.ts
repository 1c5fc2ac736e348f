import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchStop } from '../../src/host/stuck-stop.ts'
import type { Announcement, Lifecycle } from '../../src/lifecycle/lifecycle.ts'
import { createManualClock } from '../helpers/manual-clock.ts'

const minute = 60_000
type Listener = Parameters<Lifecycle['subscribe']>[0]

function begin() {
  const clock = createManualClock()
  let tell: Listener = () => undefined
  let times = 0
  const subscribe = (listener: Listener) => {
    tell = listener
    return () => undefined
  }
  watchStop(clock, { subscribe }, () => (times += 1))
  const announce = (kind: Announcement['kind']): void => tell({ kind } as Announcement)
  return { clock, announce, stuck: () => times }
}

test('a stop in which nothing is written down for a minute is stuck, once', () => {
  const { clock, stuck } = begin()
  clock.advance(minute - 1)
  assert.equal(stuck(), 0)
  clock.advance(1)
  assert.equal(stuck(), 1)
  clock.advance(10 * minute)
  assert.equal(stuck(), 1)
})

test('each fact puts that off, and nothing else that is told', () => {
  const { clock, announce, stuck } = begin()
  for (let n = 0; n < 3; n += 1) {
    clock.advance(minute - 1)
    announce('lifecycle')
  }
  assert.equal(stuck(), 0)
  announce('log')
  clock.advance(minute)
  assert.equal(stuck(), 1)
})

test('a process that was paused for longer gets another minute', () => {
  const { clock, stuck } = begin()
  clock.pause(2 * minute)
  clock.advance(minute - 1)
  assert.equal(stuck(), 0)
  clock.advance(1)
  assert.equal(stuck(), 1)
})

test('after ten minutes no fact puts it off any more', () => {
  const { clock, announce, stuck } = begin()
  for (let n = 0; n < 20; n += 1) {
    clock.advance(minute / 2)
    announce('lifecycle')
  }
  assert.equal(stuck(), 0)
  clock.advance(minute / 2)
  assert.equal(stuck(), 1)
})
