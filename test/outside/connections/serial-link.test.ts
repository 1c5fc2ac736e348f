import assert from 'node:assert/strict'
import { readdir, readlink, realpath } from 'node:fs/promises'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { openSerial } from '../../../src/outside/connections/serial-link.ts'
import { createOutside } from '../../../src/outside/outside.ts'
import { openSerialPort } from '../../../src/outside/serial/open-serial-port.ts'
import type { ConnectionEvent, ConnectionTarget } from '../../../src/schema/outside/connection.ts'
import { moduleAddress, printedWithFewFiles } from '../../helpers/few-files.ts'
import { createSerialPair } from '../../helpers/serial-pair.ts'
import { until } from '../../helpers/until.ts'
import { openConnection } from './open-connection.ts'

const line = { baudRate: 9_600, dataBits: 8, parity: 'none', stopBits: 1 } as const

test('a serial port that nobody wants any more by the time it is open is closed, and nothing is said of it', async (t) => {
  const [{ path }, other] = await Promise.all([createSerialPair(t), createSerialPair(t)])
  const device = await realpath(path)
  const isOpen = async (): Promise<boolean> => {
    const files = await readdir('/proc/self/fd')
    const targets = await Promise.all(files.map((file) => readlink(`/proc/self/fd/${file}`).catch(() => '')))
    return targets.includes(device)
  }
  const heard: string[] = []
  const link = openSerial(
    { kind: 'serial', settings: { path, ...line } },
    {
      opened: () => heard.push('opened'),
      message: () => heard.push('message'),
      silence: () => heard.push('silence'),
      ended: () => heard.push('ended'),
      warn: (message) => heard.push(message),
    },
    { clock: systemClock },
  )
  link.destroy()
  // By the time that another one is open it has been, too.
  const next = await openSerialPort({ path: other.path, ...line })
  await until('the end of the first', async () => !(await isOpen()), 10_000)
  await new Promise((resolve) => next.close(resolve))
  assert.deepEqual(heard, [])
})

test('a serial port that is wanted while no file descriptor is left is tried again', async (t) => {
  const { path } = await createSerialPair(t)
  const printed = printedWithFewFiles(
    t,
    `import { openSerial } from ${moduleAddress('outside/connections/serial-link.ts')}
    const never = () => undefined
    const settings = ${JSON.stringify({ path, ...line })}
    const attempt = () => new Promise((resolve) => {
      const link = openSerial({ kind: 'serial', settings }, {
        opened: () => resolve(link),
        ended: ({ reason, refused }) => resolve([/EMFILE: too many open files/.test(reason), refused]),
        message: never, silence: never, warn: never,
      }, { clock: { schedule: never } })
    })
    fill()
    const told = [await attempt()]
    // Enough to look at the path, and not to load the library.
    for (const file of opened.splice(0, 4)) closeSync(file)
    told.push(await attempt())
    release()
    // The library was to be loaded, and can be now.
    const link = await attempt()
    link.destroy()
    console.log(JSON.stringify(told))`,
  )
  if (printed !== undefined)
    assert.deepEqual(JSON.parse(printed), [
      [true, false],
      [true, false],
    ])
})

test('a serial port that is pulled out while something waits to be written to it is told as lost', async (t) => {
  const { path, pull } = await createSerialPair(t)
  const outside = createOutside({
    ...{ clock: systemClock, hostVersion: '1.2.3', environment: {}, rewrite: {}, ownPorts: () => [] },
  })
  t.after(() => outside.close())
  const heard: ConnectionEvent[] = []
  const target: ConnectionTarget = { kind: 'serial', settings: { path, ...line } }
  const connection = openConnection(outside, target, (event) => heard.push(event))
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
