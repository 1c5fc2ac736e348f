import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Measured } from './measure.ts'
import type { WitnessCommand } from './witness-process.ts'

/** The host's client in another process, see `witness-process.ts`. */
export interface Witness {
  /** Measures until `done` settles, and until there are samples enough. */
  watch(done: Promise<unknown>): Promise<Measured>
}

export async function startWitness(t: TestContext, http: string, mqtt: string): Promise<Witness> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'witness-process.ts'), [http, mqtt], {
    execArgv: ['--import', 'tsx'],
  })
  t.after(() => void child.kill())
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`the witness ended with ${String(code)}`)
  })
  // It always ends at last; that matters only to one who waits for it.
  gone.catch(() => undefined)
  const said = async (): Promise<unknown> => {
    const [message] = await Promise.race([once(child, 'message'), gone])
    return message as unknown
  }
  const tell = (command: WitnessCommand): boolean => child.send(command)
  await said()
  return {
    async watch(done) {
      tell('begin')
      await done.catch(() => undefined)
      const answer = said()
      tell('end')
      return (await answer) as Measured
    },
  }
}
