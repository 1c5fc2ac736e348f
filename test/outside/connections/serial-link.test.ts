import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createOutside } from '../../../src/outside/outside.ts'
import type { ConnectionEvent, ConnectionTarget } from '../../../src/schema/outside/connection.ts'
import { createSerialPair } from '../../helpers/serial-pair.ts'
import { until } from '../../helpers/until.ts'

test('a serial port that is pulled out while something waits to be written to it is told as lost', async (t) => {
  const { path, pull } = await createSerialPair(t)
  const outside = createOutside({
    ...{ clock: systemClock, hostVersion: '1.2.3', environment: {}, rewrite: {}, ownPorts: () => [] },
  })
  t.after(() => outside.close())
  const heard: ConnectionEvent[] = []
  const settings = { path, baudRate: 9_600, dataBits: 8, parity: 'none', stopBits: 1 } as const
  const target: ConnectionTarget = { kind: 'serial', settings }
  const connection = outside.connect(
    '@test/plugin',
    target,
    {
      event: (event) => heard.push(event),
      message: () => undefined,
      warn: () => undefined,
      later: setImmediate,
    },
    { connect: () => undefined, serial: () => undefined, discover: () => undefined },
  )
  await until('the port', async () => heard.length > 0)
  // Nobody reads it, so that most of it waits.
  for (let count = 0; count < 4; count += 1) connection.write('1', Buffer.alloc(200_000), false)
  await pull()
  await until('the end', async () => heard.length > 1)
  const last = heard.at(-1)
  assert.ok(
    last?.event === 'closed' && last.reason?.startsWith(path) === true && last.final,
    JSON.stringify(heard),
  )
})
