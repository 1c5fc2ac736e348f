import type { RemoteInfo } from 'node:dgram'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { messageOf } from '../../base/problem.ts'
import type { FoundService } from '../../schema/outside/discovery.ts'
import { listNetworks, type ListNetworks } from '../networks.ts'
import {
  type ComposeMessage,
  type MulticastPlace,
  type MulticastSockets,
  openMulticastSockets,
} from './multicast-sockets.ts'
import { createTimeBudget } from './time-budget.ts'

/** Milliseconds between two looks at the networks of this machine. */
const networksLookAgain = 10_000
/** Milliseconds until something is asked for again; doubled each time. */
const firstPause = 1_000
/** Share of the processor that messages of strangers may take in the long run, and milliseconds of it at once. */
const messageShare = 0.1
const messageBurst = 100
/** Milliseconds of it at one go, and until it goes on: others need several turns of the event loop for what they do. */
const messageSlice = 5
const messagePause = 20
/** Messages that wait for their turn. */
const waitingLimit = 100
/** Messages that are left out until nothing is listened to for a while: to take them off the network costs time, too. */
const leftOutLimit = 500
/** Milliseconds of that while. */
const restTime = 1_000
const resting: MulticastSockets = { send: (_compose, done) => done(undefined), close: () => undefined }
/** Milliseconds between two complaints about the same. */
const complainAgain = 60_000

/** Who looks for something. It is not told anything while it begins to. */
export interface Watcher {
  /** The network is listened to. */
  ready(): void
  /** Undefined: it is gone. What has not changed is told again at times. */
  tell(key: string, service: FoundService | undefined): void
  /** Nobody listens any more, and nothing else is told. */
  failed(reason: string): void
  warn(message: string): void
}

/** Looks for things on the network; all who look share the sockets, which are there as long as somebody does. */
export interface Finder {
  /** Answers how to stop. */
  watch(wanted: string, watcher: Watcher): () => void
  /** Addresses of the machine of this name, the best first; none: nothing on it has been found. */
  addressesOf(host: string): readonly string[]
}

/** What a protocol is given. */
export interface FinderContext {
  clock: Clock
  send(compose: ComposeMessage): void
  /** Tells those who look for it; undefined: it is gone. */
  set(wanted: string, key: string, service: FoundService | undefined): void
  /** Tells those who look for it that something is left out. */
  warn(wanted: string, message: string): void
}

/** What two ways of finding things differ in. Nothing in it has to be asked to be stopped while nothing is wanted. */
export interface FinderProtocol {
  /** Milliseconds between two times of asking for the same at most. */
  longestPause: number
  ask(wanted: string): void
  heard(message: Buffer, from: RemoteInfo): void
  /** Nobody looks for it any more. */
  forget(wanted: string): void
  /** The networks are others now: what is not said again is gone. */
  doubt(): void
}

export interface FinderSettings {
  clock: Clock
  place: MulticastPlace
  /** Default: those of this machine. */
  networks?: ListNetworks | undefined
  protocol(context: FinderContext): FinderProtocol
}

interface Search {
  watchers: Set<Watcher>
  present: Map<string, FoundService>
  pause: number
  askedAt: number
  timer: ScheduledCall | undefined
}

export function createFinder({ clock, place, networks = listNetworks, ...settings }: FinderSettings): Finder {
  const searches = new Map<string, Search>()
  const spend = createTimeBudget(clock, messageShare, messageBurst)
  const complaints = new Map<string, number>()
  let sockets: MulticastSockets | undefined
  /** Messages since the last look at the networks or rest. */
  let leftOut = 0
  /** What an earlier opening says is of no interest. */
  let opening = 0
  let seen: string | undefined
  let look: ScheduledCall | undefined
  let waiting: { message: Buffer; from: RemoteInfo }[] = []
  let turn: ScheduledCall | undefined

  const protocol = settings.protocol({
    clock,
    send(compose) {
      sockets?.send(compose, (failure) => {
        if (failure !== undefined) complain([...searches.values()], `nothing can be sent: ${failure}`)
      })
    },
    set(wanted, key, service) {
      const search = searches.get(wanted)
      if (search === undefined) return
      if (service === undefined) search.present.delete(key)
      else search.present.set(key, service)
      for (const watcher of [...search.watchers]) watcher.tell(key, service)
    },
    warn(wanted, message) {
      const search = searches.get(wanted)
      if (search !== undefined) complain([search], message)
    },
  })

  function complain(to: Search[], message: string): void {
    const now = clock.monotonic()
    if (now - (complaints.get(message) ?? Number.NEGATIVE_INFINITY) < complainAgain) return
    if (complaints.size >= 100) complaints.clear()
    complaints.set(message, now)
    for (const { watchers } of to) for (const watcher of watchers) watcher.warn(message)
  }

  function heard(message: Buffer, from: RemoteInfo): void {
    if (waiting.length >= waitingLimit) {
      leaveOut()
      return
    }
    waiting.push({ message, from })
    if (turn !== undefined) return
    const soon = setImmediate(takeSome)
    turn = { cancel: () => clearImmediate(soon) }
  }

  function takeSome(): void {
    turn = undefined
    const end = clock.monotonic() + messageSlice
    let next = waiting.shift()
    while (next !== undefined) {
      const { message, from } = next
      if (!spend(() => protocol.heard(message, from))) leaveOut()
      if (clock.monotonic() >= end) break
      next = waiting.shift()
    }
    if (waiting.length > 0) turn = clock.schedule(messagePause, takeSome)
  }

  function forgetWaiting(): void {
    waiting = []
    turn?.cancel()
    turn = undefined
  }

  function leaveOut(): void {
    complain(
      [...searches.values()],
      'more is said on the network than can be listened to: some of it is left out',
    )
    leftOut += 1
    if (leftOut < leftOutLimit) return
    opening += 1
    look?.cancel()
    sockets?.close()
    sockets = resting
    forgetWaiting()
    look = clock.schedule(restTime, () => void open())
  }

  /** Everybody is told, and nobody looks any more. */
  function fail(reason: string): void {
    const watchers = [...searches.values()].flatMap((search) => [...search.watchers])
    for (const wanted of [...searches.keys()]) stop(wanted)
    for (const watcher of watchers) watcher.failed(reason)
  }

  function shut(): void {
    opening += 1
    look?.cancel()
    sockets?.close()
    sockets = undefined
    forgetWaiting()
    complaints.clear()
  }

  /** Undefined: the system does not tell, as when it has no file descriptor left. */
  function networksNow(): string | undefined {
    try {
      return JSON.stringify(networks())
    } catch {
      return undefined
    }
  }

  async function open(): Promise<void> {
    opening += 1
    const mine = opening
    const others = networksNow()
    const changed = others !== seen
    seen = others
    leftOut = 0
    try {
      const opened = await openMulticastSockets(place, networks, heard, (reason) => {
        if (mine === opening) fail(reason)
      })
      if (mine !== opening) {
        opened.close()
        return
      }
      const before = sockets
      sockets = opened
      before?.close()
      look = clock.schedule(networksLookAgain, lookAtNetworks)
      if (before !== undefined && changed) protocol.doubt()
      for (const [wanted, search] of searches) {
        begin(wanted, search)
        if (before === undefined) for (const watcher of search.watchers) watcher.ready()
      }
    } catch (error) {
      if (mine === opening) fail(messageOf(error))
    }
  }

  function lookAtNetworks(): void {
    leftOut = 0
    const others = networksNow()
    if (others !== undefined && others !== seen) void open()
    else look = clock.schedule(networksLookAgain, lookAtNetworks)
  }

  /** Asks at once, or a moment after the last time, and then less and less often. */
  function begin(wanted: string, search: Search): void {
    search.pause = firstPause
    search.timer?.cancel()
    const wait = Math.max(0, search.askedAt + firstPause - clock.monotonic())
    search.timer = clock.schedule(wait, () => ask(wanted, search))
  }

  function ask(wanted: string, search: Search): void {
    search.askedAt = clock.monotonic()
    search.timer = clock.schedule(search.pause, () => ask(wanted, search))
    search.pause = Math.min(search.pause * 2, protocol.longestPause)
    protocol.ask(wanted)
  }

  function stop(wanted: string): void {
    searches.get(wanted)?.timer?.cancel()
    searches.delete(wanted)
    protocol.forget(wanted)
    if (searches.size === 0) shut()
  }

  return {
    watch(wanted, watcher) {
      const isFirst = searches.size === 0
      const search: Search = searches.get(wanted) ?? {
        ...{ watchers: new Set(), present: new Map(), pause: firstPause },
        ...{ askedAt: Number.NEGATIVE_INFINITY, timer: undefined },
      }
      searches.set(wanted, search)
      search.watchers.add(watcher)
      if (isFirst) void open()
      else if (sockets !== undefined) {
        queueMicrotask(() => {
          if (sockets === undefined || !search.watchers.has(watcher)) return
          watcher.ready()
          for (const [key, service] of search.present) watcher.tell(key, service)
          begin(wanted, search)
        })
      }
      return () => {
        search.watchers.delete(watcher)
        if (search.watchers.size === 0 && searches.get(wanted) === search) stop(wanted)
      }
    },
    addressesOf(host) {
      const name = host.toLowerCase()
      for (const { present } of searches.values())
        for (const found of present.values()) if (found.host.toLowerCase() === name) return found.addresses
      return []
    },
  }
}
