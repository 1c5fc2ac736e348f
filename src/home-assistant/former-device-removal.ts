import { evictOldest } from '../base/evict-oldest.ts'
import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { Bus, BusSubscription } from '../bus/bus.ts'
import type { Announcement, Lifecycle } from '../lifecycle/lifecycle.ts'
import { identifierOf } from '../schema/names/identifier.ts'
import type { PublishedNames } from '../schema/files/names-file.ts'
import { discoveryTopic } from '../schema/names/topics.ts'
import { createBirths } from './births.ts'

/** Topics that Home Assistant is told of again: a plugin may bridge ever new devices. */
const saidLimit = 10_000

export interface FormerDeviceRemovalSettings {
  lifecycle: Lifecycle
  bus: Bus
  /** Names under which devices were announced, and are not now. */
  former: readonly PublishedNames[]
  present: PublishedNames
  /** Home Assistant is there, and has heard of all devices that are known. */
  heard: () => void
  clock: Pick<Clock, 'schedule'>
  logger: Logger
}

/**
 * The built-in broker forgets at its end what the host has retained, so that nothing stands there of former names. But a
 * Home Assistant that ran meanwhile has the devices still, beside those with the present names: it lets go of one when it
 * is told nothing on its topic.
 */
export interface FormerDeviceRemoval {
  /** Before devices are announced under the present names: then these take the places of the former. */
  start(): Promise<void>
  close(): Promise<void>
}

export function createFormerDeviceRemoval(settings: FormerDeviceRemovalSettings): FormerDeviceRemoval {
  const { lifecycle, bus, former, present, heard, clock, logger } = settings
  const said = new Set<string>()
  const subscriptions: BusSubscription[] = []
  let unsubscribe = (): void => undefined
  /** What others have retained: a copy of this host with its former id, say. */
  let taken = new Set<string>()
  let closed = false
  const births = createBirths(clock, sayAgain)

  function say(topic: string): void {
    if (taken.has(topic)) return
    bus.publish(topic, '', { qos: 1, retain: true }).catch((error: unknown) => {
      if (!closed) logger.warn('Home Assistant could not be told', { topic, reason: error })
    })
  }

  function sayOf(id: string, device: string | undefined): void {
    const plugin = identifierOf(id)
    const now = discoveryTopic(present.prefix, present.hostId, plugin, device)
    for (const { prefix, hostId } of former) {
      const topic = discoveryTopic(prefix, hostId, plugin, device)
      if (topic === now || said.has(topic)) continue
      said.add(topic)
      evictOldest(said, saidLimit)
      say(topic)
    }
  }

  function follow(announcement: Announcement): void {
    if (announcement.kind !== 'exposure' || announcement.exposure === undefined) return
    sayOf(announcement.plugin, announcement.exposure.device?.id)
  }

  function look(): void {
    taken = new Set(bus.retainedTopics())
  }

  function sayAgain(): void {
    look()
    for (const topic of said) say(topic)
    heard()
  }

  return {
    async start() {
      look()
      unsubscribe = lifecycle.subscribe(follow)
      for (const { id } of lifecycle.list()) {
        sayOf(id, undefined)
        for (const { exposure } of lifecycle.exposures(id)) sayOf(id, exposure.device?.id)
      }
      const prefixes = [...former.map(({ prefix }) => prefix), present.prefix]
      for (const prefix of new Set(prefixes.filter((one) => one !== ''))) {
        subscriptions.push(await bus.subscribe(`${prefix}/status`, births.take))
      }
    },
    async close() {
      closed = true
      births.close()
      unsubscribe()
      await Promise.all(subscriptions.map((subscription) => subscription.close()))
    },
  }
}
