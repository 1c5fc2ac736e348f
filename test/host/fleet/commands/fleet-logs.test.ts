import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFleetLogs } from '../../../../src/host/fleet/commands/fleet-logs.ts'
import type { LogEntry } from '../../../../src/schema/plugin/plugin.ts'

const noon = Date.parse('2026-06-21T12:00:00Z')
const hour = 3_600_000
const line = (message: string, time: number): LogEntry => ({
  at: new Date(time).toISOString(),
  level: 'info',
  message,
})

/** The messages that a host reads at noon. `hosts`: the lines of the others, and their clock; undefined: they do not tell it. */
async function read(
  own: LogEntry[],
  hosts: Record<string, { lines: LogEntry[]; time: number | undefined }>,
  limit?: number,
): Promise<string[]> {
  const logs = createFleetLogs({
    own: () => own,
    clock: { now: () => noon },
    others: () => Object.keys(hosts),
    ask: async (host, method) => {
      const { lines, time } = hosts[host] ?? { lines: [], time: undefined }
      if (method === 'logs') return lines
      if (time === undefined) throw new Error('it does not know the question')
      return time
    },
  })
  const lines = await logs('@a/b', limit === undefined ? {} : { limit })
  return lines.map(({ message }) => message)
}

test('lines of hosts whose clocks differ are in the order in which they came, and the last ones are the newest', async () => {
  const own = [line('second', noon - 4_000), line('fourth', noon - 2_000)]
  for (const ahead of [0, 200, 5 * hour, -5 * hour, -400_000 * hour]) {
    const time = noon + ahead
    const other = { lines: [line('first', time - 5_000), line('third', time - 3_000)], time }
    assert.deepEqual(await read(own, { other }), ['first', 'second', 'third', 'fourth'], `${ahead}`)
    assert.deepEqual(await read(own, { other }, 1), ['fourth'])
  }
})

test('lines of a host whose clock was set back stay in their order', async () => {
  const own = [line('first', noon + hour), line('second', noon + hour), line('third', noon - 1_000)]
  assert.deepEqual(await read(own, {}), ['first', 'second', 'third'])
  assert.deepEqual(await read(own, {}, 1), ['third'])
})

test('a host that does not tell its time goes by the times of its lines', async () => {
  const other = { lines: [line('first', noon - 2_000)], time: undefined }
  assert.deepEqual(await read([line('second', noon - 1_000)], { other }), ['first', 'second'])
})
