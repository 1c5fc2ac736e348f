import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { freePort } from '../helpers/free-port.ts'

const binary = ['/usr/sbin/mosquitto', '/usr/bin/mosquitto', '/usr/local/sbin/mosquitto'].find(existsSync)

/** Why the tests with this broker are skipped, or false. */
export const mosquittoMissing: string | false = binary === undefined ? 'mosquitto is not installed' : false

export interface Mosquitto {
  readonly url: string
  start(): Promise<void>
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>
  /** It hangs: connections stay, and nothing is answered until `resume`. */
  pause(): void
  resume(): void
}

/** A mosquitto that has nothing but what the test gives it; ended and removed after the test. */
export async function createMosquitto(
  context: TestContext,
  lines: string[] = ['allow_anonymous true'],
): Promise<Mosquitto> {
  const folder = await mkdtemp(join(tmpdir(), 'lupine-mosquitto-'))
  const port = await freePort()
  const config = join(folder, 'mosquitto.conf')
  const always = [`listener ${port} 127.0.0.1`, 'persistence false', 'log_dest stderr', 'log_type all']
  await writeFile(config, [...always, ...lines].join('\n'))
  let child: ChildProcess | undefined

  const mosquitto: Mosquitto = {
    url: `mqtt://127.0.0.1:${port}`,
    async start() {
      const started = spawn(binary ?? '', ['-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
      child = started
      await new Promise<void>((resolve, reject) => {
        started.once('exit', (code) => reject(new Error(`mosquitto ended with ${code}`)))
        createInterface({ input: started.stderr }).on('line', (line) => {
          if (/ running$/.test(line)) resolve()
        })
      })
    },
    async kill() {
      const running = child
      child = undefined
      if (running === undefined || running.exitCode !== null) return
      const ended = new Promise((resolve) => running.once('exit', resolve))
      running.kill('SIGKILL')
      await ended
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  }
  context.after(async () => {
    await mosquitto.kill()
    await rm(folder, { recursive: true })
  })
  return mosquitto
}

/** The same, started. */
export async function startMosquitto(context: TestContext, lines?: string[]): Promise<Mosquitto> {
  const mosquitto = await createMosquitto(context, lines)
  await mosquitto.start()
  return mosquitto
}
