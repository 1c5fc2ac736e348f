import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restsUntil } from '../../../src/fleet/leases/rest.ts'
import { initialLeaseState, type LeaseEvent, type LeaseState } from '../../../src/fleet/leases/state.ts'
import { leaseStep } from '../../../src/fleet/leases/step.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'
import { createFleetStage } from '../fleet-stage.ts'
import { createKeptHost, plugins } from './keeper-stage.ts'

/** When ticks are left out. That they have nothing to do then is held to whatever happens in lease-simulation.test.ts. */

const stage = createFleetStage()

type Happening = readonly [at: number, event: LeaseEvent]

const tick = (at: number): Happening => [at, { type: 'tick' }]
const renewed = (at: number, host: string, session: string, n: number, revision: number): Happening => [
  at,
  { type: 'hostSeen', host, record: { session, n }, revision },
]
const wanted: Happening = [0, { type: 'wantedChanged', wanted: plugins('p') }]
const held: Happening = [
  15,
  { type: 'leaseSeen', plugin: 'p', record: { host: 'a', session: '0-x-0', epoch: 1 }, revision: 1 },
]
/** The session of the host `a` was renewed at 10; it runs `p`. */
const open: Happening[] = [[0, { type: 'synced' }], wanted, tick(10), renewed(12, 'a', '0-x-0', 0, 1)]
const running: Happening[] = [...open, tick(14), held]

function after(happenings: readonly Happening[]): LeaseState {
  let state = initialLeaseState({ host: 'a', process: 'x' })
  for (const [at, event] of happenings) [state] = leaseStep(state, event, at)
  return state
}

for (const { title, given, at, rests } of [
  { title: 'rests until its session is to be renewed', given: running, at: 20, rests: 2_010 },
  { title: 'does not rest before it has a session', given: [wanted], at: 20, rests: undefined },
  {
    title: 'does not rest while nothing was heard of a renewal',
    given: [...running, tick(2_010)],
    at: 2_011,
    rests: undefined,
  },
  {
    title: 'does not rest while its session is stale',
    given: running,
    at: 4_010,
    rests: undefined,
  },
  { title: 'does not rest while nobody has a plugin', given: open, at: 20, rests: undefined },
  {
    title: 'does not rest while a plugin leaves',
    given: [...running, [20, { type: 'giveBack', plugin: 'p' }] as const],
    at: 30,
    rests: undefined,
  },
  {
    title: 'rests no longer than until another session is silent for too long',
    given: [renewed(0, 'b', '0-y-0', 4, 9), ...running, ...later(2_010, 4_020, 6_030)],
    at: 6_040,
    rests: 6_700,
  },
  {
    title: 'does not rest before it has ended the session that was silent for too long',
    given: [renewed(0, 'b', '0-y-0', 4, 9), ...running, ...later(2_010, 4_020, 6_030)],
    at: 6_700,
    rests: undefined,
  },
])
  test(`a host ${title}`, () => assert.equal(restsUntil(after(given), at), rests))

/** Renewals of the session of `a`, each of them taken. */
function later(...times: number[]): Happening[] {
  return times.flatMap((at, index) => [tick(at), renewed(at + 2, 'a', '0-x-0', index + 1, 20 + index)])
}

/** Milliseconds, while something is under way. */
const betweenTicks = 200

test('a host that has nothing to do but to renew its session looks once after each renewal, and soon after news', async (context) => {
  const clock = createManualClock()
  let soon = 0
  const { keeper, running: started } = createKeptHost(context, stage.url(), stage.newFleet(), 'h1', {
    clock: {
      ...clock,
      schedule(milliseconds, callback) {
        if (milliseconds === betweenTicks) soon += 1
        return clock.schedule(milliseconds, callback)
      },
    },
    elapsed: clock.monotonic,
    wanted: plugins('@a/p'),
  })
  context.after(() => keeper.close())
  await keeper.open()
  /** Whatever the store has to say to it is heard before the time goes on. */
  async function pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= betweenTicks) {
      clock.advance(betweenTicks)
      await until('an answer', async () => keeper.state.own?.sent.size === 0)
    }
  }
  await pass(betweenTicks)
  await until('the plugin to run', async () => {
    if (started.size === 0) clock.advance(betweenTicks)
    return started.size === 1
  })
  await pass(4_000)
  soon = 0
  await pass(10_000)
  // After each renewal, to see that it was taken; these ten seconds may begin or end with one.
  assert.ok(soon >= 5 && soon <= 6, `${soon} times in ten seconds`)
  keeper.want(plugins())
  await pass(betweenTicks)
  assert.equal(started.size, 0)
})

test('a host whose machine slept while it had nothing to do renews its session with whatever it hears next', async (context) => {
  const clock = createManualClock()
  let slept = 0
  const { keeper } = createKeptHost(context, stage.url(), stage.newFleet(), 'h1', {
    ...{ clock, elapsed: () => clock.monotonic() + slept, wanted: plugins() },
  })
  context.after(() => keeper.close())
  await keeper.open()
  const isHeard = async (): Promise<boolean> => keeper.state.own?.sent.size === 0
  await until('its session', isHeard)
  clock.advance(betweenTicks)
  // Timers have stood still meanwhile.
  slept += 2_500
  keeper.seeDisk(false)
  clock.advance(1)
  assert.equal(keeper.state.own?.n, 1)
  await until('an answer', isHeard)
})
