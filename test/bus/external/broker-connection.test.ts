import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createBrokerConnection } from '../../../src/bus/external/broker-connection.ts'
import { freePort } from '../../helpers/free-port.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

/** What somebody connects with, as far as a broker may refuse it, or go by it later. */
interface Wanted {
  version: number
  /** Nothing is kept of the connection before, nor for the next one. */
  clean: boolean
  qos: number
  retain: boolean
  /** Bytes of a packet that it takes, in MQTT 5. */
  largest: number | undefined
}

/** Of a CONNECT with a will. */
function wantedIn(packet: Buffer): Wanted {
  const start = packet.indexOf('MQTT') + 4
  const [version = 0, flags = 0] = packet.subarray(start)
  // Behind how long it may be silent, and how long its properties are.
  const largest = version === 5 && packet[start + 5] === 0x27 ? packet.readUInt32BE(start + 6) : undefined
  return { version, clean: (flags & 2) !== 0, qos: (flags >> 3) & 3, retain: (flags & 0x20) !== 0, largest }
}

/** The reason code for who connects, 0: taken; or it hangs up. */
type Answer = number | 'ends' | 'resets'

/** A connection to a broker that is there or not, as the test says. */
async function createStage(context: TestContext, answer: (wanted: Wanted) => Answer = () => 0) {
  const port = await freePort()
  const clock = createManualClock()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (packet) => {
      const wanted = wantedIn(packet)
      asked.push(wanted)
      const code = answer(wanted)
      if (code === 'ends') socket.end()
      else if (code === 'resets') socket.resetAndDestroy()
      else socket.write(Buffer.from(wanted.version === 5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code]))
    })
  })
  const asked: Wanted[] = []
  let attempts = 0
  const ends: boolean[] = []
  const connection = createBrokerConnection({
    ...{ url: `mqtt://127.0.0.1:${port}`, clock, random: () => 0 },
    clientId() {
      attempts += 1
      return 'test'
    },
    will: { topic: 'status', payload: Buffer.from('offline'), qos: 1, retain: true },
    opened: () => undefined,
    message: () => undefined,
    pace: (goOn) => goOn(),
    ended: (wasConnected) => ends.push(wasConnected) < 0,
  })
  function hangUp(): void {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  context.after(() => {
    connection.close()
    hangUp()
  })
  return {
    ...{ clock, connection, asked, ends, hangUp },
    appear: () => once(server.listen(port, '127.0.0.1'), 'listening'),
    isConnected: () => until('the connection', async () => connection.client !== undefined),
    /** Whether the next attempt comes after so many milliseconds, and not before. */
    async comesAfter(milliseconds: number): Promise<boolean> {
      const waitingAfter = (passed: number): number => {
        clock.advance(passed)
        return clock.waiting
      }
      return waitingAfter(milliseconds - 1) === 1 && waitingAfter(1) === 0
    },
    attempts: () => attempts,
    ended: (count: number) => until('the end', async () => ends.length === count),
  }
}

test('attempts to reach a broker come later each time, and soon again once a connection has held for a while', async (context) => {
  const { clock, connection, ends, hangUp, appear, isConnected, comesAfter, attempts, ended } =
    await createStage(context)
  connection.renew()
  for (const [failed, delay] of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
    await ended(failed + 1)
    assert.equal(await comesAfter(delay), true, `attempt after ${delay} ms`)
  }
  await ended(9)
  assert.equal(attempts(), 9, 'nobody who is not there is asked with another version')
  await appear()
  assert.equal(await comesAfter(30_000), true)
  await isConnected()
  clock.advance(9_999)
  hangUp()
  await ended(10)
  await appear()
  assert.equal(await comesAfter(30_000), true, 'it has not held for long')
  await isConnected()
  clock.advance(10_000)
  hangUp()
  await ended(11)
  assert.equal(await comesAfter(500), true)
  assert.deepEqual(ends.slice(9), [true, true])
})

test('who hears that others reach the broker tries at once, and once', async (context) => {
  const { clock, connection, ends, appear, isConnected, comesAfter, attempts, ended } =
    await createStage(context)
  connection.hurry()
  assert.equal(attempts(), 0, 'none was wanted yet')
  connection.renew()
  for (const [failed, delay] of [500, 1_000, 2_000].entries()) {
    await ended(failed + 1)
    await comesAfter(delay)
  }
  await ended(4)
  await appear()
  connection.hurry()
  connection.hurry()
  assert.equal(clock.waiting, 0, 'the attempt that waited is not made, too')
  await isConnected()
  connection.hurry()
  assert.equal(attempts(), 5)
  assert.equal(ends.length, 4, 'the connection that there is stays')
})

test('attempts that were hurried in vain do not put the next one off', async (context) => {
  const { connection, comesAfter, ended } = await createStage(context)
  connection.renew()
  for (const [failed, delay] of [500, 1_000].entries()) {
    await ended(failed + 1)
    await comesAfter(delay)
  }
  for (const failed of [3, 4, 5]) {
    await ended(failed)
    connection.hurry()
  }
  await ended(6)
  assert.equal(await comesAfter(2_000), true)
})

test('a new connection that is wanted is tried at once, and after the end none is', async (context) => {
  const { clock, connection, comesAfter, ended } = await createStage(context)
  connection.renew()
  for (const [failed, delay] of [500, 1_000].entries()) {
    await ended(failed + 1)
    await comesAfter(delay)
  }
  await ended(3)
  connection.renew()
  assert.equal(clock.waiting, 0, 'the attempt that waited is not made, too')
  await ended(4)
  assert.equal(await comesAfter(500), true)
  await ended(5)
  connection.finish()
  assert.equal(clock.waiting, 0)
})

test('a broker that was lost is asked for all again: there may be another one in its place', async (context) => {
  let answer = ({ version }: Wanted): number => (version === 5 ? 0x84 : 0)
  const { clock, connection, asked, hangUp, appear, isConnected, ended } = await createStage(
    context,
    (wanted) => answer(wanted),
  )
  const all: Wanted = { version: 5, clean: true, qos: 1, retain: true, largest: 2_097_152 }
  await appear()
  connection.renew()
  await isConnected()
  assert.deepEqual(asked.splice(0), [all, { ...all, version: 4, largest: undefined }])

  answer = ({ qos, retain }) => (retain ? 0x9a : qos > 0 ? 0x9b : 0)
  for (const count of [1, 2]) {
    hangUp()
    await ended(count)
    await appear()
    clock.advance(30_000)
    await isConnected()
    const withoutRetain = { ...all, retain: false }
    assert.deepEqual(asked.splice(0), [all, withoutRetain, { ...withoutRetain, qos: 0 }])
  }
})

for (const reset of [false, true])
  test(`a broker that hangs up on MQTT 5 ${reset ? 'before it has read all of it' : 'without a word'} is asked with 3.1.1 at once`, async (context) => {
    const { connection, asked, ends, appear, isConnected } = await createStage(context, ({ version }) =>
      version === 4 ? 0 : reset ? 'resets' : 'ends',
    )
    await appear()
    connection.renew()
    await isConnected()
    assert.deepEqual([asked.map(({ version }) => version), ends], [[5, 4], []])
  })
