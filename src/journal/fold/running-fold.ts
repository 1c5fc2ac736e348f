import { evictOldest } from '../../base/evict-oldest.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import {
  type Applied,
  foldEvent,
  type HostState,
  initialState,
  type LiveState,
  type PluginSnapshot,
} from './evolve.ts'
import type { FoldedEvents } from './stored-state.ts'

/** How many request keys are remembered across a restart. */
const rememberedRequests = 1_000

/** The fold as it goes on, event by event. */
export interface RunningFold {
  /** As it is now; what it says does not change afterwards. The next event has to copy the map of all plugins for that. */
  readonly state: HostState
  /** The same object all the time; nothing is copied for who looks at it. */
  readonly live: LiveState
  /** The same, with all that a start needs. To be used before the next event. */
  readonly folded: FoldedEvents
  /** Number of the plugin's latest event. */
  lastOf(plugin: string): number | undefined
  /** Goes on from a state that was stored. */
  resume(folded: FoldedEvents): void
  /** Folds the next event. Throws with a sentence at one that does not follow. */
  take(event: JournalEvent): void
  /** As `take`, for an event that has been applied to this very state. */
  commit(event: JournalEvent, applied: Applied): void
}

export function createRunningFold(): RunningFold {
  const initial = initialState()
  let { seq, host } = initial
  let plugins: ReadonlyMap<string, PluginSnapshot> = initial.plugins
  /** The same map while nobody else has it: it is changed in place, and copied only when somebody has seen it. */
  let own: Map<string, PluginSnapshot> | undefined
  /** What `state` says until the next event. */
  let present: HostState | undefined
  let event: string | null = null
  let lastOf = new Map<string, number>()
  let requests = new Map<string, string>()

  const live: LiveState = {
    get seq() {
      return seq
    },
    get host() {
      return host
    },
    plugins: { get: (id) => plugins.get(id) },
  }

  function seen(): HostState {
    own = undefined
    return (present ??= { seq, host, plugins })
  }

  function commit(next: JournalEvent, applied: Applied): void {
    present = undefined
    seq = next.seq
    host = applied.host
    event = next.id
    if (next.plugin === null || applied.plugin === undefined) return
    if (own === undefined) plugins = own = new Map(plugins)
    own.set(next.plugin, applied.plugin)
    lastOf.set(next.plugin, seq)
    if (next.requestKey !== undefined) remember(next.requestKey, next.plugin)
  }

  function remember(requestKey: string, plugin: string): void {
    requests.delete(requestKey)
    requests.set(requestKey, plugin)
    evictOldest(requests, rememberedRequests)
  }

  return {
    get state() {
      return seen()
    },
    get folded() {
      return { state: seen(), event, lastOf, requests }
    },
    live,
    lastOf: (plugin) => lastOf.get(plugin),
    resume(folded) {
      ;({ seq, host, plugins } = folded.state)
      own = present = undefined
      event = folded.event
      lastOf = new Map(folded.lastOf)
      requests = new Map(folded.requests)
    },
    take: (next) => commit(next, foldEvent({ seq, host, plugins }, next)),
    commit,
  }
}
