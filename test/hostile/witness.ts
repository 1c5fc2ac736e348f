import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Measured } from './measure.ts'
import type { WitnessAnswer, WitnessCommand } from './witness-process.ts'

/** The host's client in another process, see `witness-process.ts`. */
export interface Witness {
  /** Measures as long as `work` goes on; `enough` resolves when there are samples enough of it. */
  watch(work: (enough: Promise<void>) => Promise<void>): Promise<Measured>
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
  async function said<T extends WitnessAnswer>(isWanted: (answer: WitnessAnswer) => answer is T): Promise<T> {
    for (;;) {
      const [answer] = (await Promise.race([once(child, 'message'), gone])) as [WitnessAnswer]
      if (isWanted(answer)) return answer
    }
  }
  const tell = (command: WitnessCommand): boolean => child.send(command)
  await said((answer) => answer === 'ready')
  return {
    async watch(work) {
      const enough = said((answer) => answer === 'enough').then(() => undefined)
      tell('begin')
      try {
        await work(enough)
      } finally {
        // Also after a failure: nobody waits for this any more, then.
        enough.catch(() => undefined)
      }
      const measured = said((answer) => typeof answer === 'object')
      tell('end')
      return measured
    },
  }
}
