import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SerialPort } from 'serialport'
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

/** Two pseudo terminals that socat joins. */
export async function createSerialPair(context: Pick<TestContext, 'after'>): Promise<SerialPair> {
  const folder = await temporaryDirectory(context)
  const [path, otherPath] = [join(folder, 'plugin'), join(folder, 'test')]
  const end = (link: string): string => `pty,raw,echo=0,link=${link}`
  const socat: ChildProcess = spawn('socat', [end(path), end(otherPath)], { stdio: 'ignore' })
  const ended = once(socat, 'exit')
  await until('the ports', () => Promise.resolve(existsSync(path) && existsSync(otherPath)))
  const port = new SerialPort({ path: otherPath, baudRate: 9_600, autoOpen: false })
  port.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => {
    port.open((error) => (error === null ? resolve() : reject(error)))
  })
  async function pull(): Promise<void> {
    socat.kill()
    await ended
  }
  context.after(async () => {
    if (port.isOpen) await new Promise((resolve) => port.close(resolve))
    await pull()
  })
  return { path, port, pull }
}
