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

/** Ends loads before they are through: those of one plugin for its owner, or all of them when the host stops. */
export interface LoadCancellation {
  /** A load begins; one that may not is aborted already. */
  begin(id: string): CancellableLoad
  /** Files are fetched for an installation or an update, perhaps while it is loaded: that ends as a load does. */
  beginFetch(id: string): CancellableLoad
  /**
   * Ends the plugin's load and what is fetched for it, and every other that commands before this one begin, until the answer is called.
   * `command`: for people, such as `uninstall (http)`.
   */
  hold(id: string, command: string): () => void
  /** The command that ended a load of this plugin since the last call. */
  takeInterruption(id: string): string | undefined
  /** Ends all loads, and lets no other begin. */
  stopAll(): void
  readonly stopped: boolean
}

export function createLoadCancellation(): LoadCancellation {
  const underWay = new Map<string, Set<AbortController>>()
  /** Commands that wait for their turn, by plugin, the first first. */
  const holds = new Map<string, string[]>()
  const interruptions = new Map<string, string>()
  let stopped = false

  /** Why a load is to end before it is through; it goes into the fact. */
  function reasonFor(id: string): string | undefined {
    if (stopped) return 'shutdown'
    const command = holds.get(id)?.[0]
    return command === undefined ? undefined : `interrupted by ${command}`
  }

  function stop(id: string): void {
    const reason = reasonFor(id)
    if (reason === undefined) return
    for (const controller of underWay.get(id) ?? []) controller.abort(reason)
  }

  function beginFetch(id: string): CancellableLoad {
    const controller = new AbortController()
    const controllers = getOrInsert(underWay, id, () => new Set())
    controllers.add(controller)
    stop(id)
    return {
      signal: controller.signal,
      finish() {
        controllers.delete(controller)
        if (controllers.size === 0 && underWay.get(id) === controllers) underWay.delete(id)
      },
    }
  }

  return {
    begin(id) {
      const { signal, finish } = beginFetch(id)
      return {
        signal,
        finish() {
          finish()
          const command = holds.get(id)?.[0]
          if (signal.aborted && command !== undefined) interruptions.set(id, command)
        },
      }
    },
    beginFetch,
    hold(id, command) {
      const commands = getOrInsert(holds, id, () => [])
      commands.push(command)
      stop(id)
      let held = true
      return () => {
        if (!held) return
        held = false
        commands.splice(commands.indexOf(command), 1)
        if (commands.length === 0 && holds.get(id) === commands) holds.delete(id)
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
