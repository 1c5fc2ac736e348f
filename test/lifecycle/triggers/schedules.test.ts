import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSchedules } from '../../../src/lifecycle/triggers/schedules.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const minute = 60_000
const start = Date.parse('2026-01-01T00:00:00Z')
const everyTenMinutes = { kind: 'cron', expression: '*/10 * * * *', timezone: 'UTC' } as const

/** A clock whose machine can sleep: its timers stand still, and its time does not. And it can be set: nothing else goes on. */
function createSleepyClock() {
  const clock = createManualClock(start)
  let slept = 0
  let ahead = 0
  return {
    ...clock,
    get waiting() {
      return clock.waiting
    },
    now: () => clock.now() + slept + ahead,
    elapsed: () => clock.monotonic() + slept,
    sleep: (milliseconds: number) => void (slept += milliseconds),
    set: (milliseconds: number) => void (ahead += milliseconds),
  }
}

function createStage() {
  const clock = createSleepyClock()
  const runs: string[] = []
  const run = (): void => void runs.push(new Date(clock.now()).toISOString().slice(11, 19))
  return { clock, runs, run, schedules: createSchedules(clock, clock.elapsed) }
}

test('a schedule runs at its times until it is removed, and nothing is left then', async () => {
  const { clock, runs, run, schedules } = createStage()
  assert.equal(await schedules.add('@a/b', 1, everyTenMinutes, run), undefined)
  assert.equal(schedules.count('@a/b'), 1)
  clock.advance(25 * minute)
  assert.deepEqual(runs, ['00:10:00', '00:20:00'])
  schedules.remove('@a/b', 1)
  assert.equal(clock.waiting, 0)
  clock.advance(60 * minute)
  assert.deepEqual([runs.length, schedules.count('@a/b'), clock.waiting], [2, 0, 0])
})

test('one that is due later does not keep one that is due sooner from its time', async () => {
  const { clock, runs, run, schedules } = createStage()
  clock.advance(10 * minute - 10_000)
  await schedules.add('@a/b', 1, everyTenMinutes, run)
  await schedules.add('@a/b', 2, { ...everyTenMinutes, expression: '0 * * * *' }, run)
  clock.advance(10_000)
  assert.deepEqual(runs, ['00:10:00'])
})

test('a host that was asleep runs a missed one once, if it is young enough', async () => {
  const { clock, runs, run, schedules } = createStage()
  await schedules.add('@a/b', 1, everyTenMinutes, run)
  // It wakes 30 s after a time, and looks at most 30 s later.
  clock.sleep(49.6 * minute)
  clock.advance(minute)
  assert.equal(runs.length, 1)
  // And 4 minutes after one.
  clock.sleep(33.4 * minute)
  clock.advance(minute)
  assert.equal(runs.length, 1)
  clock.advance(10 * minute)
  assert.equal(runs.length, 2)
})

test('one that is too old to be made up for is told, once, and none that a clock only jumps over as it is set', async () => {
  const { clock, runs, run, schedules } = createStage()
  const missed: string[] = []
  const miss = (due: number): void => void missed.push(new Date(due).toISOString().slice(11, 19))
  await schedules.add('@a/b', 1, everyTenMinutes, run, miss)
  clock.sleep(34 * minute)
  clock.advance(minute)
  assert.deepEqual([runs, missed], [[], ['00:10:00']])
  clock.advance(5 * minute)
  assert.deepEqual([runs, missed], [['00:40:00'], ['00:10:00']])
  clock.set(24 * 60 * minute + 5 * minute)
  clock.advance(minute)
  assert.deepEqual(missed, ['00:10:00'])
})

test('how young it has to be is for the plugin to say', async () => {
  for (const [catchUp, expected] of [
    [5 * minute, 1],
    [0, 0],
    // More milliseconds than there have been, and than a date can have.
    [8e15, 1],
    [1e18, 1],
  ] as const) {
    const { clock, runs, run, schedules } = createStage()
    await schedules.add('@a/b', 1, { ...everyTenMinutes, catchUp }, run)
    clock.sleep(14 * minute)
    clock.advance(minute)
    assert.equal(runs.length, expected, `${catchUp}`)
  }
})

test('a clock that is set back does not leave a gap', async () => {
  const { clock, runs, run, schedules } = createStage()
  await schedules.add('@a/b', 1, everyTenMinutes, run)
  clock.advance(11 * minute)
  clock.set(-60 * minute)
  clock.advance(10 * minute)
  assert.deepEqual(runs, ['00:10:00', '23:20:00'])
})

test('a refused schedule is told, and holds nothing; all of a plugin end together', async () => {
  const { clock, run, schedules } = createStage()
  assert.match(
    (await schedules.add('@a/b', 1, { kind: 'cron', expression: '0 0 30 2 *' }, run)) ?? '',
    /no next time/,
  )
  assert.deepEqual([schedules.count('@a/b'), clock.waiting], [0, 0])
  await schedules.add('@a/b', 2, everyTenMinutes, run)
  await schedules.add('@a/b', 3, everyTenMinutes, run)
  await schedules.add('@a/c', 3, everyTenMinutes, run)
  schedules.clear('@a/b')
  assert.deepEqual([schedules.count('@a/b'), schedules.count('@a/c'), clock.waiting], [0, 1, 1])
  schedules.clear('@a/c')
  assert.equal(clock.waiting, 0)
})

test('of many that are due at once each runs once, and others are served in between', async () => {
  const manual = createManualClock(start)
  // Of the processor: a millisecond goes by with each look at it, where the time of day stands still.
  let worked = 0
  const schedules = createSchedules({ ...manual, monotonic: () => (worked += 1) })
  const runs: (number | string)[] = []
  const add = async (plugin: string, number: number): Promise<void> => {
    assert.equal(
      await schedules.add(plugin, number, everyTenMinutes, () => {
        runs.push(number)
        if (number === 0) manual.schedule(0, () => runs.push('another'))
        if (number === 1) schedules.remove('@a/b', 4)
        if (number === 2) schedules.clear('@a/c')
      }),
      undefined,
    )
  }
  for (let number = 0; number < 20; number += 1) await add('@a/b', number)
  for (let number = 20; number < 40; number += 1) await add('@a/c', number)
  manual.advance(10 * minute)
  const own = Array.from({ length: 20 }, (_, number) => number).filter((number) => number !== 4)
  assert.deepEqual(
    runs.filter((run) => run !== 'another'),
    own,
  )
  const others = runs.indexOf('another')
  assert.ok(others > 0 && others < 10, `another call came after ${others} of ${own.length}`)
  manual.advance(10 * minute)
  assert.equal(runs.length, 2 * own.length + 2)
  schedules.clear('@a/b')
  assert.equal(manual.waiting, 0)
})

test('a clock that is set back while nothing was planned does not leave a gap', async () => {
  const { clock, runs, run, schedules } = createStage()
  clock.advance(120 * minute)
  await schedules.add('@a/b', 1, everyTenMinutes, run)
  clock.set(-60 * minute)
  clock.advance(11 * minute)
  assert.deepEqual(runs, ['01:10:00'])
})

const year = 365 * 24 * 60 * minute
const noon = { kind: 'at', time: '12:00', timezone: 'UTC', catchUp: 24 * 60 * minute } as const

test('a clock that is set by years, back and forth, makes nothing run that was not missed, and nothing stay away', async () => {
  const { clock, runs, run, schedules } = createStage()
  await schedules.add('@a/b', 1, noon, run)
  await schedules.add('@a/b', 2, everyTenMinutes, () => undefined)
  // As a box without a battery does: it began in another year, and is told the time two minutes later.
  clock.advance(2 * minute)
  clock.set(50 * year + 13 * 60 * minute)
  clock.advance(5 * minute)
  assert.deepEqual(runs, [], 'the noon of this day was before it began to wait')
  clock.advance(24 * 60 * minute)
  assert.deepEqual(runs, ['12:00:00'])
  clock.set(-80 * year)
  clock.advance(24 * 60 * minute)
  assert.deepEqual(runs, ['12:00:00', '12:00:00'])
})

test('what comes due before it is seen that the clock was set back runs, too', async () => {
  const { clock, runs, run, schedules } = createStage()
  await schedules.add('@a/b', 1, noon, run)
  clock.advance(60 * minute)
  // 11:59:50 of the day before; it is looked at 20 s later at the latest.
  clock.set(-13 * 60 * minute - 10_000)
  clock.advance(minute)
  assert.equal(runs.length, 1)
})

test('what has run does not run again where a clock that was ahead is corrected', async () => {
  for (const ahead of [3_000, 40_000, 4 * minute]) {
    const { clock, runs, run, schedules } = createStage()
    await schedules.add('@a/b', 1, noon, run)
    clock.advance(12 * 60 * minute)
    clock.set(-ahead)
    clock.advance(10 * minute)
    assert.deepEqual(runs, ['12:00:00'])
    clock.advance(24 * 60 * minute)
    assert.deepEqual(runs, ['12:00:00', '12:00:00'])
  }
})
