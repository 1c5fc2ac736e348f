import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeartbeat } from '../../../src/sandbox/threads/heartbeat.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

function stage(
  answer: 'always' | 'never',
  waiting = (): boolean => false,
  share = 1,
  waited = 0,
  idle = (): boolean => false,
) {
  const manual = createManualClock()
  const clock = { ...manual, processorTime: () => manual.monotonic() * share }
  const told: number[] = []
  const asked: number[] = []
  const heartbeat = createHeartbeat({
    clock,
    interval: 2_000,
    limit: 8_000,
    waited: () => manual.monotonic() * waited,
    waiting,
    idle,
    ping: (sequence) => {
      asked.push(clock.monotonic())
      if (answer === 'always') heartbeat.pong(sequence)
    },
    unresponsive: () => told.push(clock.monotonic()),
  })
  heartbeat.start()
  return { clock: manual, heartbeat, told, asked }
}

test('a worker that answers lives for ever', () => {
  const { clock, told } = stage('always')
  clock.advance(3_600_000)
  assert.deepEqual(told, [])
})

test('a worker that is idle is left alone after some beats, and asked again once it has done something', () => {
  let idle = true
  const { clock, asked, told } = stage('always', undefined, 1, 0, () => idle)
  clock.advance(60_000)
  assert.deepEqual(asked, [0, 2_000, 4_000, 6_000])
  idle = false
  clock.advance(2_000)
  idle = true
  clock.advance(60_000)
  assert.deepEqual(asked.slice(4), [62_000, 64_000, 66_000, 68_000, 70_000])
  assert.deepEqual(told, [])
})

test('a worker that is silent for the limit is unresponsive, once', () => {
  const { clock, told } = stage('never')
  clock.advance(60_000)
  assert.deepEqual(told, [8_000])
  assert.equal(clock.waiting, 0)
})

test('silence counts as far as there was a processor to answer with, and a fifth in any case', () => {
  for (const [share, end] of [
    [0.9, 8_000],
    [0.5, 16_000],
    [0.01, 40_000],
  ] as const) {
    const { clock, told } = stage('never', undefined, share)
    clock.advance(60_000)
    assert.deepEqual(told, [end], `${share} of a processor`)
  }
})

test('silence hardly counts while the neighbours of a worker in this process have the processors', () => {
  for (const [waited, end] of [
    [0.1, 8_000],
    [0.5, 16_000],
    [0.95, 40_000],
  ] as const) {
    const { clock, told } = stage('never', undefined, 2, waited)
    clock.advance(60_000)
    assert.deepEqual(told, [end], `waits for a processor for ${waited} of the time`)
  }
})

test('silence while the worker waits for the host does not count', () => {
  let waiting = true
  const { clock, told } = stage('never', () => waiting)
  clock.advance(60_000)
  assert.deepEqual(told, [])
  waiting = false
  clock.advance(8_000)
  assert.deepEqual(told, [68_000])
})

test('an answer in time begins the silence anew, and a stop ends it', () => {
  const { clock, heartbeat, told } = stage('never')
  clock.advance(7_000)
  heartbeat.pong(1)
  clock.advance(7_000)
  assert.deepEqual(told, [])
  heartbeat.stop()
  clock.advance(60_000)
  assert.deepEqual(told, [])
  assert.equal(clock.waiting, 0)
})
