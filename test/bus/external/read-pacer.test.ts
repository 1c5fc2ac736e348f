import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createReadPacer } from '../../../src/bus/external/read-pacer.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { collect, connect, startExternalBus } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** Longer than messages are taken at a stretch. */
function workLong(): void {
  for (const begun = performance.now(); performance.now() - begun < 10;);
}

test('Messages are taken at once while there is time in the turn, and then in the next one', async () => {
  const clock = createManualClock()
  const pace = createReadPacer(clock, () => undefined)
  let taken = 0
  const take = (): void => void (taken += 1)
  pace(take)
  assert.equal(taken, 1)
  clock.advance(10)
  pace(take)
  assert.equal(taken, 1)
  await setImmediate()
  assert.equal(taken, 2)
  pace(take)
  assert.equal(taken, 3)
})

test('None is taken while too many wait for those who have subscribed', async () => {
  const caughtUp = createDeferred<undefined>()
  let isCongested = true
  const pace = createReadPacer(createManualClock(), () =>
    isCongested ? caughtUp.promise.then(() => undefined) : undefined,
  )
  let taken = 0
  pace(() => (taken += 1))
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  assert.equal(taken, 0)
  isCongested = false
  caughtUp.resolve(undefined)
  while (taken === 0) await setImmediate()
  pace(() => (taken += 1))
  assert.equal(taken, 2)
})

for (const qos of [0, 1, 2] as const)
  test(
    `Of a broker that has many messages of QoS ${qos} no more are taken than the host can handle, and all of them in order`,
    { skip: mosquittoMissing },
    async (context) => {
      const count = 5_000
      // More than wait for the host at once; some come beside them, as the host says whether it is there.
      const most = 1_010
      const { url } = await startMosquitto(context, [
        'allow_anonymous true',
        'max_queued_messages 0',
        'max_inflight_messages 0',
      ])
      const bus = await startExternalBus(context, url)
      const client = await connect(context, url)
      const answers = collect(client)
      await client.subscribeAsync('last')
      let handled = 0
      let waiting = 0
      let inOrder = true
      await bus.subscribe('many', ({ payload }) => {
        waiting = Math.max(waiting, bus.messages.received - handled)
        inOrder &&= Buffer.from(payload).toString() === String(handled)
        handled += 1
        if (handled % 100 === 0) workLong()
        if (handled === count) void bus.publish('last', 'x')
      })
      await bus.flush()
      for (let number = 0; number < count; number += 1) client.publish('many', String(number), { qos })
      await answers.take(1)
      assert.equal(inOrder, true)
      assert.ok(waiting <= most, `${waiting} were waiting`)
    },
  )
