import { getOrInsert } from '../../base/get-or-insert.ts'

/** Ends a load as a command does. Whoever has the plugin next begins another. */
export const moveToAnotherHost = 'its move to another host'

/** A load that is under way. */
export interface CancellableLoad {
  /** Aborted when the load is to end; `reason` of it says why. */
  signal: AbortSignal
  /** The load is over, whatever came of it. */
  finish(): void
}

/** A load of a plugin whose files may have to be fetched first. */
export interface CancellableStart extends CancellableLoad {
  /** Runs what waits for the network: meanwhile the load is also ended by commands that end no more than that. */
  whileFetching<T>(fetch: () => Promise<T>): Promise<T>
}

/**
 * What a command ends. `everything`: loads, and what is fetched for an installation or an update. `fetch of a load`: a load while
 * that waits for the network, which the command, or the reconciler after it, begins anew.
 */
export type CommandEnds = 'everything' | 'fetch of a load'

/** Ends loads before they are through: those of one plugin for its owner, or all of them when the host stops. */
export interface LoadCancellation {
  /** A load begins; one that may not is aborted already. */
  begin(id: string): CancellableStart
  /** Files are fetched for an installation or an update, perhaps while it is loaded: that ends as a load does. */
  beginFetch(id: string): CancellableLoad
  /**
   * Ends what is under way for the plugin, and what commands before this one begin, until the answer is called; that tells whether
   * anything was ended. `command`: for people, such as `uninstall (http)`.
   */
  hold(id: string, command: string, ends?: CommandEnds): () => boolean
  /** The command that ended a load of this plugin since the last call, and does not mean to begin another. */
  takeInterruption(id: string): string | undefined
  /** Ends all loads, and lets no other begin. */
  stopAll(): void
  readonly stopped: boolean
}

interface UnderWay {
  controller: AbortController
  /** Whether it is a load that waits for the network now. */
  isFetching: boolean
}

interface Hold {
  command: string
  ends: CommandEnds
  hasEnded: boolean
}

export function createLoadCancellation(): LoadCancellation {
  const underWay = new Map<string, Set<UnderWay>>()
  /** Commands that wait for their turn, by plugin, the first first. */
  const holds = new Map<string, Hold[]>()
  const interruptions = new Map<string, string>()
  let stopped = false

  /** Ends it, if it is to end before it is through; the reason goes into the fact. */
  function endIfHeld(id: string, { controller, isFetching }: UnderWay): void {
    if (controller.signal.aborted) return
    if (stopped) {
      controller.abort('shutdown')
      return
    }
    const hold = holds.get(id)?.find(({ ends }) => ends === 'everything' || isFetching)
    if (hold === undefined) return
    hold.hasEnded = true
    controller.abort(`interrupted by ${hold.command}`)
  }

  function stop(id: string): void {
    for (const work of underWay.get(id) ?? []) endIfHeld(id, work)
  }

  function beginWork(id: string): CancellableLoad & { work: UnderWay } {
    const work: UnderWay = { controller: new AbortController(), isFetching: false }
    const works = getOrInsert(underWay, id, () => new Set())
    works.add(work)
    endIfHeld(id, work)
    return {
      work,
      signal: work.controller.signal,
      finish() {
        works.delete(work)
        if (works.size === 0 && underWay.get(id) === works) underWay.delete(id)
      },
    }
  }

  return {
    begin(id) {
      const { work, signal, finish } = beginWork(id)
      return {
        signal,
        finish() {
          finish()
          const hold = holds.get(id)?.find(({ ends }) => ends === 'everything')
          if (signal.aborted && hold !== undefined) interruptions.set(id, hold.command)
        },
        async whileFetching(fetch) {
          work.isFetching = true
          endIfHeld(id, work)
          try {
            return await fetch()
          } finally {
            work.isFetching = false
          }
        },
      }
    },
    beginFetch: beginWork,
    hold(id, command, ends = 'everything') {
      const hold: Hold = { command, ends, hasEnded: false }
      const ofPlugin = getOrInsert(holds, id, () => [])
      ofPlugin.push(hold)
      stop(id)
      let held = true
      return () => {
        if (held) {
          held = false
          ofPlugin.splice(ofPlugin.indexOf(hold), 1)
          if (ofPlugin.length === 0 && holds.get(id) === ofPlugin) holds.delete(id)
        }
        return hold.hasEnded
      }
    },
    takeInterruption(id) {
      const command = interruptions.get(id)
      interruptions.delete(id)
      return command
    },
    stopAll() {
      stopped = true
      for (const id of underWay.keys()) stop(id)
    },
    get stopped() {
      return stopped
    },
  }
}
