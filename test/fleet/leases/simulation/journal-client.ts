import type { Link } from './link.ts'
import type { Entry, Store } from './store.ts'

/** How a host writes into the journal: it decides from what is there, on top of which alone it is taken. */

export interface JournalClient {
  /**
   * `decide` is asked again from the newer state when what it wanted was refused. `isStillWanted`: whether to try again
   * when nothing is heard.
   */
  append(
    plugin: string,
    decide: (entries: readonly Entry[]) => Entry | 'done' | 'refused',
    done: () => void,
    isStillWanted: () => boolean,
  ): void
}

interface Parts {
  store: Store
  link: Link
  later(delay: number, run: () => void): void
  enter(run: () => void): void
  /** Runs what follows from a decision, some time later. */
  decided(run: () => void): void
  random(low: number, high: number): number
}

/** Milliseconds without an answer until another try. */
const patience = 1_000

export function createJournalClient({ store, link, later, enter, decided, random }: Parts): JournalClient {
  return {
    append(plugin, decide, done, isStillWanted) {
      let tries = 0
      let isDone = false
      function finish(): void {
        if (isDone) return
        isDone = true
        done()
      }
      function attempt(): void {
        tries += 1
        const nth = tries
        const isCurrent = (): boolean => !isDone && nth === tries
        link.send(() => {
          if (!store.hasLeader || !store.answers) return
          const entries = store.journal(plugin)
          link.send(() => enter(() => isCurrent() && take(entries, isCurrent)))
        })
        later(patience, () => {
          if (isCurrent() && isStillWanted()) attempt()
        })
      }
      function take(entries: readonly Entry[], isCurrent: () => boolean): void {
        const decision = decide(entries)
        if (decision === 'done') return void finish()
        if (decision === 'refused') {
          isDone = true
          return
        }
        decided(() =>
          link.send(() => {
            if (!store.hasLeader) return
            const isTaken = store.append(plugin, decision, entries.length)
            if (!store.answers) return
            link.send(() =>
              enter(() => {
                if (isTaken) finish()
                else if (isCurrent()) later(random(1, 20), attempt)
              }),
            )
          }),
        )
      }
      attempt()
    },
  }
}
