import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createElapsedTime, systemElapsedSources } from '../../../src/base/time/elapsed-time.ts'

function createMachine() {
  const times = { monotonic: 5_000, boot: 90_000, wall: 1e12 }
  let bootReadings = 0
  const elapsed = createElapsedTime({
    monotonic: () => times.monotonic,
    boot() {
      bootReadings += 1
      return Math.floor(times.boot / 10) * 10
    },
    wall: () => times.wall,
    bootStep: 10,
  })
  return {
    times,
    elapsed,
    bootReadings: () => bootReadings,
    run(milliseconds: number) {
      for (const name of ['monotonic', 'boot', 'wall'] as const) times[name] += milliseconds
    },
    sleep(milliseconds: number) {
      for (const name of ['boot', 'wall'] as const) times[name] += milliseconds
    },
  }
}

test('while a machine runs, elapsed time is that of the monotonic clock', () => {
  const { elapsed, run } = createMachine()
  for (let passed = 0; passed <= 1_000; passed += 3.7) {
    assert.ok(Math.abs(elapsed() - passed) < 1e-6)
    run(3.7)
  }
})

test('the time that a machine slept has elapsed, from the first look on', () => {
  const { elapsed, run, sleep } = createMachine()
  run(500)
  const before = elapsed()
  sleep(8_000)
  // Not a millisecond after the last look.
  const first = elapsed() - before
  assert.ok(first >= 7_990 - 10 && first <= 8_000, `${first}`)
  run(2_000)
  sleep(30_000)
  run(1)
  const all = elapsed() - before
  assert.ok(all >= 40_001 - 20 && all <= 40_001, `${all}`)
})

test('elapsed time goes on and never back, whatever is done to the time of day', () => {
  const { times, elapsed, run } = createMachine()
  let last = elapsed()
  for (const step of [3_600_000, -7_200_000, 12, -1, 1e11]) {
    times.wall += step
    run(5)
    const next = elapsed()
    assert.ok(Math.abs(next - last - 5) < 1e-6)
    last = next
  }
  times.boot -= 60_000
  run(20)
  assert.ok(Math.abs(elapsed() - last - 20) < 1e-6)
})

test('the boot clock, which is dear to read, is read a hundred times a second at most', () => {
  const { elapsed, run, bootReadings } = createMachine()
  for (let looks = 0; looks < 100_000; looks += 1) {
    run(0.01)
    elapsed()
  }
  assert.ok(bootReadings() <= 102, `${bootReadings()}`)
})

test('the boot clock of this machine is that of the system', { skip: process.platform !== 'linux' }, () => {
  const system = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1_000
  assert.ok(Math.abs(systemElapsedSources.boot() - system) < 1_000)
  const elapsed = createElapsedTime()
  assert.ok(elapsed() >= 0)
})
