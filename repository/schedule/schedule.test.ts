import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startOnStage } from '../../test/helpers/plugin-stage.ts'
import { startStarterPlugin } from '../../test/helpers/starter-plugin.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000
const folder = fileURLToPath(new URL('.', import.meta.url))
/** A local time, whatever zone the host is in. */
const local = (text: string): number => new Date(text).getTime() / 1000

test('it is told on the minute, as an event and as a message', () => {
  const schedules = [
    { name: 'tea', when: '0 16 * * *', topic: 'kitchen/kettle/set', payload: 'ON' },
    { name: 'half', when: '30 15 * * *' },
  ]
  const stage = startOnStage(folder, local('2026-06-21T15:05:09.6'), { schedules })
  assert.deepEqual(
    stage.advance(3600).map(({ name, at, data }) => [name, at, data.name ?? data.payload]),
    [
      ['schedule:due', local('2026-06-21T15:30:00'), 'half'],
      ['schedule:due', local('2026-06-21T16:00:00'), 'tea'],
      ['kitchen/kettle/set', local('2026-06-21T16:00:00'), 'ON'],
    ],
  )
  assert.equal(stage.sensor('due'), 'tea')
  assert.match(String(stage.sensor('next')), /^2026-06-22T15:30:00/)
  const [next] = stage.advance(86_400)
  assert.equal(next?.data.timestamp, local('2026-06-22T15:30:00'))
})

test('switched off, schedules pass; switched on, they come again', () => {
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), {
    schedules: [{ name: 'often', when: '*/10 * * * *' }],
  })
  stage.setControl('enabled', false)
  assert.deepEqual(stage.advance(1200), [])
  stage.setControl('enabled', true)
  assert.equal(stage.advance(600).length, 1)
})

test('what was slept through is not made up for, and what comes then is told', () => {
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), {
    schedules: [{ name: 'often', when: '*/10 * * * *' }],
  })
  assert.deepEqual(stage.jump(3 * 3600), [])
  assert.deepEqual(
    stage.advance(600).map(({ at }) => at),
    [local('2026-06-21T18:10:00')],
  )
})

test('what comes just before the computer wakes is told, whatever else was slept through', () => {
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), {
    schedules: [{ name: 'often', when: '*/10 * * * *' }],
  })
  assert.deepEqual(
    stage.jump(3 * 3600 + 5 * 60 + 20).map(({ data }) => data.timestamp),
    [local('2026-06-21T18:10:00')],
  )
  assert.deepEqual(
    stage.advance(600).map(({ at }) => at),
    [local('2026-06-21T18:20:00')],
  )
})

test('a clock that is set back does not make a schedule wait for the old time', () => {
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), {
    schedules: [{ name: 'often', when: '*/10 * * * *' }],
  })
  assert.deepEqual(stage.jump(-2 * 3600), [])
  assert.deepEqual(
    stage.advance(600).map(({ at }) => at),
    [local('2026-06-21T13:10:00')],
  )
})

test('in a host it says what it cannot read, and what comes next', { timeout }, async (context) => {
  const schedules = 'never: 0 0 31 2 *; wrong: 99 * * * *; yearly: @yearly -> a/b c'
  const plugin = await startStarterPlugin('schedule', { schedules })
  context.after(() => plugin.close())
  assert.deepEqual(await plugin.logs('error'), [
    "row 2: minute '99' cannot be read",
    "never: '0 0 31 2 *' is no day that ever comes",
  ])
  assert.equal((await plugin.sensors()).next, firstOfNextYear())
  assert.deepEqual((await plugin.setControl('enabled', 'OFF')).body, { id: 'enabled', value: false })
  await plugin.restart()
  const controls = await plugin.host.request('GET', '/api/plugins/schedule/controls')
  assert.equal((controls.body as { controls: { value: unknown }[] }).controls[0]?.value, false)

  function firstOfNextYear(): string {
    const year = new Date().getFullYear() + 1
    const minutes = -new Date(year, 0, 1).getTimezoneOffset()
    const pad = (number: number): string => String(Math.abs(number)).padStart(2, '0')
    const offset = `${minutes < 0 ? '-' : '+'}${pad(Math.trunc(minutes / 60))}:${pad(minutes % 60)}`
    return `${year}-01-01T00:00:00${offset}`
  }
})

test('it is an event, a time and a switch to Home Assistant', { timeout }, async (context) => {
  const plugin = await startStarterPlugin(
    'schedule',
    { schedules: 'a: @daily; b: @hourly' },
    { discoveryPrefix: 'homeassistant', hostId: 'home' },
  )
  context.after(() => plugin.close())
  const inbox = await plugin.listen('homeassistant/device/home_starter_schedule/config')
  const { cmps } = (await inbox.nextValue()) as { cmps: Record<string, Record<string, unknown>> }
  assert.deepEqual(
    Object.values(cmps).map(({ p, device_class, event_types }) => [p, device_class ?? event_types]),
    [
      ['event', ['a', 'b']],
      ['sensor', 'timestamp'],
      ['switch', undefined],
    ],
  )
})

test('a clock that is corrected by minutes tells nothing twice, and one that is set back further begins anew', () => {
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), {
    schedules: [{ name: 'often', when: '*/10 * * * *' }],
  })
  const times = (seconds: number): number[] => stage.advance(seconds).map(({ at }) => at)
  assert.deepEqual(times(360), [local('2026-06-21T15:10:00')])
  stage.jump(-120)
  assert.deepEqual(times(720), [local('2026-06-21T15:20:00')])
  stage.jump(-720)
  assert.deepEqual(times(720), [local('2026-06-21T15:10:00'), local('2026-06-21T15:20:00')])
})

test('a look that is stopped in the midst is not the last one', () => {
  const schedules = [{ name: 'often', when: '*/10 * * * *' }]
  const stage = startOnStage(folder, local('2026-06-21T15:05:00'), { schedules })
  stage.stopNext()
  assert.ok(stage.advance(1_800).some(({ at }) => at === local('2026-06-21T15:30:00')))
})
