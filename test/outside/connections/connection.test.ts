import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ConnectionSettings,
  createConnection,
  type OwnedConnection,
} from '../../../src/outside/connections/connection.ts'
import type { Link, LinkEvents } from '../../../src/outside/connections/link.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import {
  type ConnectionEvent,
  messageOverhead,
  unsentLimit,
  writtenReportBytes,
} from '../../../src/schema/outside/connection.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'

interface Stage {
  connection: OwnedConnection
  clock: ManualClock
  /** Of each attempt, the last one last. */
  attempts: LinkEvents[]
  heard: ConnectionEvent[]
  ids: string[]
  /** What was done with the links, such as `destroy 1` for the first one, and `ended` when nothing is left. */
  done: string[]
  /** Of each write that has not gone, what says that it has. */
  writes: (() => void)[]
  /** Resolves when what has been asked for has been done. */
  settled(): Promise<void>
  open(): Promise<void>
}

/**
 * A connection whose attempts are the test's to end; `goesOn`: it is a stream that goes on where it has ended. `begin` is called as
 * an attempt is made, and answers what its link does otherwise.
 */
function startConnection(
  goesOn: boolean,
  clock = createManualClock(),
  begin = (): Partial<Link> => ({}),
  more: Partial<ConnectionSettings> = {},
): Stage {
  const attempts: LinkEvents[] = []
  const heard: ConnectionEvent[] = []
  const ids: string[] = []
  const done: string[] = []
  const writes: (() => void)[] = []
  const connection = createConnection({
    ...{ clock, random: () => 0.5, kind: 'tcp', shownTarget: 'tcp://there', refusal: undefined },
    reconnect: { min: 100, max: 1_000 },
    open: (events) => {
      const number = attempts.push(events)
      const note = (what: string) => (): void => void done.push(`${what} ${number}`)
      return Promise.resolve(() => ({
        ...{ pause: note('pause'), resume: note('resume'), destroy: note('destroy') },
        write: (_payload, _message, written) => writes.push(written),
        // As a stream or a search does.
        close: () => events.ended({ reason: null }),
        ...begin(),
      }))
    },
    addressed: () => ({}),
    ...(goesOn ? { goOnFrom: (id: string) => void ids.push(id) } : {}),
    listener: {
      event: (event) => heard.push(event),
      message: (payload) => done.push(`message ${Buffer.from(payload).toString()}`),
      warn: () => undefined,
      later: setImmediate,
    },
    ended: () => done.push('ended'),
    ...more,
  })
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    ...{ connection, clock, attempts, heard, ids, done, writes, settled },
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

test('what cannot be made is not tried again, unless it could not be told where it leads, or the host is short of something', async () => {
  const { refusal } = createOwnListeners({
    ports: () => [3000],
    addresses: () => {
      throw new Error('too many open files')
    },
  })
  const short = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
  for (const [error, final] of [
    [refusal('192.0.2.1', 3000), false],
    [refusal('127.0.0.1', 3000), true],
    [new Error('it cannot be loaded', { cause: short }), false],
  ] as const) {
    const { connection, heard, settled } = startConnection(false, createManualClock(), () => {
      throw error
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

test('nothing is left of what is destroyed, whether it is open, waits for another attempt or is being closed', async () => {
  const open = startConnection(false)
  await open.open()
  open.connection.destroy()
  open.connection.destroy()
  assert.deepEqual(open.done, ['destroy 1', 'ended'])
  open.attempts[0]?.message(Buffer.from('late'), { text: false })
  open.attempts[0]?.ended({ reason: 'late' })
  open.connection.write('1', Buffer.from('late'), false)
  assert.deepEqual([open.done.length, open.heard.length, open.writes.length], [2, 1, 0])

  const waiting = startConnection(false)
  await waiting.open()
  waiting.attempts[0]?.ended({ reason: null })
  assert.equal(waiting.clock.waiting, 1)
  waiting.connection.destroy()
  assert.deepEqual([waiting.done, waiting.clock.waiting], [['ended'], 0])

  const closing = startConnection(false, createManualClock(), () => ({ close: () => undefined }))
  await closing.open()
  let isClosed = false
  const closed = closing.connection.close().then(() => {
    isClosed = true
  })
  closing.attempts[0]?.message(Buffer.from('not wanted'), { text: false })
  closing.clock.advance(1_999)
  await closing.settled()
  assert.deepEqual([closing.done, isClosed], [['resume 1'], false])
  closing.clock.advance(1)
  await closed
  assert.deepEqual([closing.done, closing.clock.waiting], [['resume 1', 'destroy 1', 'ended'], 0])
})

test('each loss doubles the pause until the next attempt, and one after ten seconds begins anew', async () => {
  const { connection, clock, attempts, open } = startConnection(false)
  async function pauseAfter(milliseconds: number): Promise<number> {
    await open()
    clock.advance(milliseconds)
    attempts.at(-1)?.ended({ reason: 'lost', code: 7 })
    const begun = clock.monotonic()
    while (connection.view().state === 'waiting') {
      clock.advance(25)
      await new Promise(setImmediate)
    }
    return clock.monotonic() - begun
  }
  const pauses = []
  for (const lasted of [0, 9_999, 0, 0, 0, 0, 10_000, 0]) pauses.push(await pauseAfter(lasted))
  // A quarter of each is taken away by chance.
  assert.deepEqual(pauses, [75, 150, 300, 600, 750, 750, 75, 150])
  assert.equal(connection.view().lastError, 'lost')
  // An attempt that never gets through says nothing of how steady it is.
  clock.advance(60_000)
  attempts.at(-1)?.ended({ reason: null })
  clock.advance(299)
  await new Promise(setImmediate)
  assert.deepEqual([connection.view().state, connection.view().lastError], ['waiting', null])
  connection.destroy()
})

test('of what is on its way a connection takes so much, counts what has gone, and begins anew with the next session', async () => {
  const { connection, clock, attempts, heard, writes, done, open } = startConnection(false)
  const half = Buffer.alloc(unsentLimit)
  const write = (payload: Uint8Array): void => connection.write('1', payload, false)
  write(half)
  await open()
  write(Buffer.alloc(writtenReportBytes - 1 - messageOverhead))
  write(half)
  writes.shift()?.()
  assert.equal(heard.length, 1, 'it is not worth a notice as long as more is on its way')
  writes.shift()?.()
  const notice = writtenReportBytes - 1 + unsentLimit + messageOverhead
  assert.deepEqual(heard.slice(1), [{ event: 'written', bytes: notice }])
  write(Buffer.alloc(0))
  write(half)
  writes.shift()?.()
  attempts[0]?.ended({ reason: 'lost', code: 7 })
  assert.deepEqual(heard.slice(2), [{ event: 'closed', reason: 'lost', code: 7, final: false }])
  clock.advance(1_000)
  await open()
  // What is said of a session that is over counts for none.
  for (const gone of writes.splice(0)) gone()
  write(half)
  writes.shift()?.()
  assert.deepEqual(heard.slice(3), [
    { event: 'opened', session: 2 },
    { event: 'written', bytes: unsentLimit + messageOverhead },
  ])
  write(half)
  write(half)
  assert.equal(connection.view().state, 'open')
  write(Buffer.alloc(0))
  assert.deepEqual(heard.slice(5), [
    { event: 'closed', reason: 'more was written to it than a connection takes', final: true },
  ])
  assert.deepEqual(done, ['destroy 2', 'ended'])
})

test('a plugin that takes nothing has what is opened meanwhile paused, and resumed only while it is open', async () => {
  const { connection, clock, attempts, done, heard, open } = startConnection(false)
  connection.pause()
  await open()
  attempts[0]?.opened()
  attempts[0]?.message(Buffer.from('x'), { text: false })
  assert.deepEqual(
    [done.splice(0), heard.length, connection.view().bytesIn],
    [['pause 1', 'message x'], 1, 1],
  )
  connection.resume()
  connection.pause()
  assert.deepEqual(done.splice(0), ['resume 1', 'pause 1'])
  // What ends twice has ended once, and is silent from then on.
  attempts[0]?.silence()
  attempts[0]?.ended({ reason: null })
  attempts[0]?.ended({ reason: 'again' })
  attempts[0]?.silence()
  attempts[0]?.message(Buffer.from('late'), { text: false })
  assert.deepEqual(
    heard.splice(0).map(({ event }) => event),
    ['opened', 'silence', 'closed'],
  )
  connection.resume()
  clock.advance(1_000)
  await open()
  assert.deepEqual(done, [])
  connection.destroy()
})

test('nothing is written for a session that is over, nor once another host has the plugin', async () => {
  let isHere = true
  const sent: unknown[] = []
  const begin = (): Partial<Link> => ({
    write: (payload, message) => sent.push([Buffer.from(payload).toString(), message]),
  })
  const { connection, done, heard, open } = startConnection(false, createManualClock(), begin, {
    addressed: (name, session, caller) =>
      name === String(session) ? { peer: { host: String(caller), port: session } } : undefined,
    mayWrite: () => isHere,
  })
  await open()
  connection.write('0', Buffer.from('old'), true)
  connection.write('1', Buffer.from('new'), true, '@other/plugin')
  assert.deepEqual(sent, [['new', { text: true, peer: { host: '@other/plugin', port: 1 } }]])
  assert.equal(connection.view().bytesOut, 3)
  isHere = false
  connection.write('1', Buffer.from('from another host'), true)
  assert.deepEqual([sent.length, done, heard.length], [1, ['destroy 1', 'ended'], 1])
})
