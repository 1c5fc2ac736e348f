import { getOrInsert } from '../../base/get-or-insert.ts'
import type { RemoteInfo } from 'node:dgram'
import type { FoundService } from '../../schema/outside/discovery.ts'
import { createDueTimer } from './due-timer.ts'
import type { FinderContext, FinderProtocol } from './finder.ts'
import {
  allowForStandstill,
  doubtTime,
  type Lease,
  leaseFor,
  nextDue,
  shorten,
  takeDueQuery,
} from './lease.ts'
import type { MulticastPlace } from './multicast-sockets.ts'
import { firstHeaders, readSsdp, type SsdpMessage, writeSearch } from './ssdp-message.ts'

/** SSDP, as UPnP has it: searches, and announcements that nobody has asked for. */

export const ssdpPlace: MulticastPlace = {
  groups: { IPv4: '239.255.255.250', IPv6: 'ff02::c' },
  port: 1900,
  answersTo: 'asker',
}

const everything = 'ssdp:all'
/** Things found of one target, and addresses from which one of them speaks. */
export const thingLimit = 500
export const sourceLimit = 8
/** Seconds within which an answer may come. */
const answerSeconds = 2
/** Milliseconds between two searches because something is about to lapse. */
const askPause = 1_000
/** Milliseconds between two searches when much has been found; some devices say nothing unless they are asked. */
const longestPause = 300_000

/** By the address from which it speaks: who is on two networks says another place on each. */
type Thing = Map<string, { said: SsdpMessage; lease: Lease }>

export function createSsdp({ clock, send, set, warn }: FinderContext, place: MulticastPlace): FinderProtocol {
  const wanted = new Map<string, Map<string, Thing>>()
  /** As they were told, as text. */
  const told = new Map<string, Map<string, string>>()
  const askedAt = new Map<string, number>()
  const sweepAt = createDueTimer(clock, (now, stoodStill) => {
    if (stoodStill) for (const lease of leases()) allowForStandstill(lease, now)
    sweep(now)
    plan(now)
  })

  function ask(target: string): void {
    askedAt.set(target, clock.monotonic())
    send((family) => writeSearch(target, place.groups[family], place.port, answerSeconds))
  }

  function heard(message: Buffer, from: RemoteInfo): void {
    const said = readSsdp(message, from)
    if (said === undefined) return
    const now = clock.monotonic()
    for (const target of [said.target, everything]) {
      const things = wanted.get(target)
      if (things === undefined) continue
      take(target, things, said, from.address, now)
      settle(target, said.name)
    }
    plan(now)
  }

  function take(
    target: string,
    things: Map<string, Thing>,
    said: SsdpMessage,
    address: string,
    now: number,
  ): void {
    if (said.isGone) {
      things.delete(said.name)
      return
    }
    const thing = things.get(said.name) ?? (new Map() as Thing)
    if (thing.size === 0 && things.size >= thingLimit) {
      warn(target, `more than ${thingLimit} of ${target} are on the network: the others are left out`)
      return
    }
    if (!thing.has(address)) {
      if (thing.size >= sourceLimit) return
      // It may have moved: who speaks from its other addresses as well is asked to say so.
      for (const { lease } of thing.values())
        shorten(lease, now + doubtTime, [now + askPause, now + 4 * askPause])
    }
    const lease = leaseFor(now, said.seconds)
    const before = thing.get(address)?.said.headers ?? []
    const names = new Set(said.headers.map(([name]) => name))
    // Announcements and answers have different ones.
    const headers = firstHeaders([...said.headers, ...before.filter(([name]) => !names.has(name))])
    headers.sort(([one], [other]) => (one < other ? -1 : 1))
    thing.set(address, { said: { ...said, headers }, lease })
    things.set(said.name, thing)
  }

  function settle(target: string, name: string): void {
    const known = getOrInsert(told, target, () => new Map())
    const thing = wanted.get(target)?.get(name)
    const service = thing && serviceOf(thing)
    if (service === undefined) {
      if (known.delete(name)) set(target, name, undefined)
      return
    }
    const text = JSON.stringify(service)
    if (known.get(name) === text) return
    known.set(name, text)
    set(target, name, service)
  }

  function serviceOf(thing: Thing): FoundService | undefined {
    const [first] = thing.values()
    if (first === undefined) return undefined
    const { name, host, port, target, headers } = first.said
    return {
      ...{ name, host, addresses: [...thing.keys()] },
      ...(port === undefined ? {} : { port }),
      txt: [...headers, ['st', target]],
    }
  }

  function sweep(now: number): void {
    for (const [target, things] of wanted) {
      let asks = false
      for (const [name, thing] of things) {
        for (const [address, { lease }] of thing) {
          if (lease.until <= now) thing.delete(address)
          else if (takeDueQuery(lease, now)) asks = true
        }
        if (thing.size === 0) things.delete(name)
        settle(target, name)
      }
      if (asks && now - (askedAt.get(target) ?? Number.NEGATIVE_INFINITY) >= askPause) ask(target)
    }
  }

  function* leases(): Iterable<Lease> {
    for (const things of wanted.values())
      for (const thing of things.values()) for (const { lease } of thing.values()) yield lease
  }

  function plan(now: number): void {
    let at = Number.POSITIVE_INFINITY
    for (const lease of leases()) at = Math.min(at, nextDue(lease))
    sweepAt(at, now)
  }

  return {
    longestPause,
    ask(target) {
      getOrInsert(wanted, target, () => new Map())
      ask(target)
    },
    heard,
    forget(target) {
      wanted.delete(target)
      told.delete(target)
      askedAt.delete(target)
      plan(clock.monotonic())
    },
    doubt() {
      const now = clock.monotonic()
      for (const lease of leases()) shorten(lease, now + doubtTime)
      plan(now)
    },
  }
}
