import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SerialPort } from 'serialport'
import { wakeForPoller } from '../../src/outside/serial/wake-for-poller.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { until } from './until.ts'

/** Two serial ports, each the other end of the other. */
export interface SerialPair {
  /** Path of the end that the plugin opens. */
  path: string
  /** The test's end, open. */
  port: SerialPort
  /** Takes the ports away, as who pulls the plug. */
  pull(): Promise<void>
}

type Context = Pick<TestContext, 'after'>

const terminal = (link: string): string => `pty,raw,echo=0,link=${link}`

/** Has socat join two ends until the test has ended, or before. */
async function joinEnds(
  ends: readonly [string, string],
  links: readonly string[],
): Promise<() => Promise<void>> {
  const socat = spawn('socat', ends, { stdio: 'ignore' })
  const ended = once(socat, 'exit')
  await until('the ports', () => Promise.resolve(links.every((link) => existsSync(link))))
  return async () => {
    socat.kill()
    await ended
  }
}

/** Two pseudo terminals that socat joins. */
export async function createSerialPair(context: Context): Promise<SerialPair> {
  const folder = await temporaryDirectory(context)
  const [path, otherPath] = [join(folder, 'plugin'), join(folder, 'test')]
  const pull = await joinEnds([terminal(path), terminal(otherPath)], [path, otherPath])
  const port = new SerialPort({ path: otherPath, baudRate: 9_600, autoOpen: false })
  port.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => {
    port.open((error) => (error === null ? resolve() : reject(error)))
  })
  wakeForPoller(port)
  context.after(async () => {
    if (port.isOpen) await new Promise((resolve) => port.close(resolve))
    await pull()
  })
  return { path, port, pull }
}

/** Path of a port with a device in another process that says what it is told. */
export async function createSerialEcho(context: Context): Promise<string> {
  const path = join(await temporaryDirectory(context), 'plugin')
  context.after(await joinEnds([terminal(path), 'exec:cat'], [path]))
  return path
}
