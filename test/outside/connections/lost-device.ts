import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { readUnderWay, systemTables } from '../../../src/outside/connections/delivery-watchdog.ts'
import { createOutside } from '../../../src/outside/outside.ts'
import type { ConnectionEvent, ConnectionTarget } from '../../../src/schema/outside/connection.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'
import { openConnection } from './open-connection.ts'

// To be run in a network of its own (`unshare -rn`), whose only link it takes away. Writes what the plugin hears.

const ip = (...parts: string[]): void => void execFileSync('ip', parts)
ip('link', 'set', 'lo', 'up')
const device = createServer((socket) => socket.on('error', () => undefined).resume())
const port = await listen(device)

const clock = createManualClock()
const outside = createOutside({
  ...{ clock, hostVersion: '1.2.3', environment: {}, rewrite: {}, ownPorts: () => [] },
  // Of the real number each one takes twice as long as the one before.
  delivery: { repetitionLimit: 2 },
})
const heard: ConnectionEvent[] = []
const target: ConnectionTarget = { kind: 'tcp', host: '127.0.0.1', port, timeout: 5_000 }
const connection = openConnection(outside, target, (event) => heard.push(event))
await until('the connection', async () => heard.length > 0)
ip('link', 'set', 'lo', 'down')
connection.write('1', Buffer.from('on\n'), false)
await until('bytes that are sent again', async () =>
  [...readUnderWay(await systemTables()).values()].some(({ repetitions }) => repetitions >= 2),
)
clock.advance(10_000)
await until('the end of the connection', async () => heard.some(({ event }) => event === 'closed'))
process.stdout.write(JSON.stringify(heard.filter(({ event }) => event !== 'written')))
process.exit()
