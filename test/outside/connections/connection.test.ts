import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnection, type OwnedConnection } from '../../../src/outside/connections/connection.ts'
import type { LinkEvents } from '../../../src/outside/connections/link.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import type { ConnectionEvent } from '../../../src/schema/outside/connection.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'

interface Stage {
  connection: OwnedConnection
  clock: ManualClock
  /** Of each attempt, the last one last. */
  attempts: LinkEvents[]
  heard: ConnectionEvent[]
  ids: string[]
  /** Resolves when what has been asked for has been done. */
  settled(): Promise<void>
  open(): Promise<void>
}

/**
 * A connection whose attempts are the test's to end; `goesOn`: it is a stream that goes on where it has ended. `begin` is called as
 * an attempt is made.
 */
function startConnection(goesOn: boolean, clock = createManualClock(), begin = (): void => undefined): Stage {
  const attempts: LinkEvents[] = []
  const heard: ConnectionEvent[] = []
  const ids: string[] = []
  const nothing = (): void => undefined
  const connection = createConnection({
    ...{ clock, random: () => 0.5, kind: 'tcp', shownTarget: 'tcp://there', refusal: undefined },
    reconnect: { min: 100, max: 1_000 },
    open: (events) => {
      attempts.push(events)
      return Promise.resolve(() => {
        begin()
        return {
          ...{ write: nothing, pause: nothing, resume: nothing, destroy: nothing },
          // As a stream or a search does.
          close: () => events.ended({ reason: null }),
        }
      })
    },
    addressed: () => ({}),
    ...(goesOn ? { goOnFrom: (id: string) => void ids.push(id) } : {}),
    listener: { event: (event) => heard.push(event), message: nothing, warn: nothing, later: setImmediate },
    ended: nothing,
  })
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    ...{ connection, clock, attempts, heard, ids, settled },
    async open() {
      await settled()
      attempts.at(-1)?.opened()
    },
  }
}

test('what is too long ends the session that has brought it, and no later one', async () => {
  const { connection, clock, attempts, heard, open } = startConnection(false)
  await open()
  attempts[0]?.ended({ reason: null })
  connection.overlong(1, 'frame')
  clock.advance(1_000)
  await open()
  connection.overlong(1, 'frame')
  assert.deepEqual(heard, [
    { event: 'opened', session: 1 },
    { event: 'closed', reason: null, final: false },
    { event: 'opened', session: 2 },
  ])
  connection.overlong(2, 'event')
  connection.overlong(2, 'event')
  assert.deepEqual(heard.slice(3), [
    {
      ...{ event: 'closed', final: false },
      reason: 'the other side has sent an event of more than 1048576 bytes',
    },
  ])
  assert.equal(connection.view().state, 'waiting')
  connection.destroy()
})

test('a stream is not asked for again before it is known where it goes on, and when', async () => {
  const { connection, clock, attempts, ids, open, settled } = startConnection(true)
  await open()
  // Nobody has asked yet.
  connection.continues('early', 0)
  attempts[0]?.ended({ reason: null })
  clock.advance(5_000)
  await settled()
  assert.equal(attempts.length, 1)
  connection.continues('7', 10)
  clock.advance(0)
  await open()
  assert.equal(attempts.length, 2)
  attempts[1]?.ended({ reason: null })
  // The server wants more than the plugin gives at most.
  connection.continues('8', 60_000)
  connection.continues('9', 0)
  clock.advance(999)
  await settled()
  assert.equal(attempts.length, 2)
  clock.advance(1)
  await open()
  assert.equal(attempts.length, 3)
  assert.deepEqual(ids, ['7', '8'])
  attempts[2]?.ended({ reason: null })
  connection.destroy()
  connection.continues('10', 0)
  clock.advance(5_000)
  await settled()
  assert.equal(attempts.length, 3)
})

test('an attempt is made in the turn of the plugin, and never when the connection is closed by then', async () => {
  const { connection, clock, attempts, open, settled } = startConnection(false)
  assert.equal(attempts.length, 0)
  await open()
  attempts[0]?.ended({ reason: null })
  clock.advance(1_000)
  assert.equal(attempts.length, 1)
  await settled()
  assert.equal(attempts.length, 2)
  attempts[1]?.ended({ reason: null })
  clock.advance(1_000)
  await connection.close()
  await settled()
  assert.equal(attempts.length, 2)

  const closed = startConnection(false)
  await closed.connection.close()
  await closed.settled()
  assert.equal(closed.attempts.length, 0)
})

test('one that is at its end as soon as it is closed is over, and says nothing more', async () => {
  const { connection, heard, open } = startConnection(false)
  await open()
  await connection.close()
  assert.deepEqual(heard, [{ event: 'opened', session: 1 }])
  await connection.close()
})

test('since when it is up is told by the clock as it was set meanwhile', async () => {
  const manual = createManualClock()
  const year = 365 * 24 * 3_600_000
  let behind = 50 * year
  const { connection, clock, open } = startConnection(false, { ...manual, now: () => manual.now() - behind })
  clock.advance(1_000)
  await open()
  const begun = manual.now()
  clock.advance(60_000)
  assert.equal(connection.view().since, new Date(begun - behind).toISOString())
  behind = 0
  assert.equal(connection.view().since, new Date(begun).toISOString())
})

test('what cannot be made is not tried again, unless it could not be told where it leads', async () => {
  const { refusal } = createOwnListeners({
    ports: () => [3000],
    addresses: () => {
      throw new Error('too many open files')
    },
  })
  for (const [host, final] of [
    ['192.0.2.1', false],
    ['127.0.0.1', true],
  ] as const) {
    const { connection, heard, settled } = startConnection(false, createManualClock(), () => {
      throw refusal(host, 3000)
    })
    await settled()
    await settled()
    assert.deepEqual(
      heard.map((event) => ('final' in event ? event.final : event.event)),
      [final],
    )
    connection.destroy()
  }
})
