import { getOrInsert } from '../base/get-or-insert.ts'
import type { Logger } from '../base/log/log.ts'
import type { Clock } from '../base/time/clock.ts'
import type { Bus, BusMessage, BusSubscription } from '../bus/bus.ts'
import { createPublishPacer } from '../bus/publish-pacer.ts'
import { discoveryTopic } from '../schema/names/topics.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import type { Announcement, ExposureView, Lifecycle } from '../lifecycle/lifecycle.ts'
import { createBirths } from './births.ts'
import { areSameSources, discoveryOf, removalOf, sourcesOf, viaDevicesFirst } from './discovery-payload.ts'
import { createForeignDevices } from './foreign-devices.ts'
import { isTemporarilyDown } from './temporarily-down.ts'
import {
  createPublishedDevices,
  type ForeignDevice,
  keyOf,
  type PublishedDevice,
  readPublished,
} from './published-devices.ts'
import { readDeviceAddress } from './read-device.ts'
import { byInstallationTime, createIdCollisionCheck } from './id-collisions.ts'
import { createTopicCollisions } from './topic-collisions.ts'

export interface HomeAssistantSettings {
  lifecycle: Lifecycle
  bus: Bus
  /** First levels of the host's topics. */
  root: string
  /** First levels of Home Assistant's own topics, `homeassistant`. */
  prefix: string
  hostId: string
  hostVersion: string
  clock: Pick<Clock, 'schedule'>
  logger: Logger
  /**
   * Absent: this host speaks for all plugins. In a fleet for those that it owns, and as the coordinator it clears what is left of
   * those that are not installed any more.
   */
  responsibility?: { owns(plugin: string): boolean; isCoordinator(): boolean }
}

/** Tells Home Assistant of everything that plugins expose, by its device discovery. */
export interface HomeAssistant {
  /** Publishes how things are, clears what is retained of things that are no more, and follows from there. */
  start(): Promise<void>
  /** This host speaks for the plugin from now on: what it shows is looked at anew. */
  take(plugin: string): void
  /** Another host does; nothing is taken back. */
  drop(plugin: string): void
  /** This host clears from now on what is left of plugins that are not installed any more, and whose host did not. */
  clearLeftovers(): void
  /** Whether a device is announced on this topic. */
  announces(topic: string): boolean
  /**
   * Stops, and leaves the retained messages: that the host is not there is a matter of availability, and
   * Home Assistant would forget the devices. Idempotent.
   */
  close(): Promise<void>
}

export function createHomeAssistant(settings: HomeAssistantSettings): HomeAssistant {
  const { lifecycle, bus, root, prefix, hostId, hostVersion, clock, logger, responsibility } = settings
  const speaksFor = (plugin: string): boolean => responsibility?.owns(plugin) ?? true
  const published = createPublishedDevices({
    dropped: (topic) => foreignDevices.warnDropped(topic),
    mayCollide: createIdCollisionCheck(),
    precedes,
    lost: schedule,
  })
  const topicCollisions = createTopicCollisions({
    published,
    precedes,
    topicOf({ plugin, device }) {
      const found = installed(plugin)
      return found && discoveryTopic(prefix, hostId, found, device)
    },
    released: schedule,
    logger,
  })
  const waiting = new Set<string>()
  const subscriptions: BusSubscription[] = []
  const cleanUps: (() => void)[] = []
  const births = createBirths(clock, () => void republish())
  const foreignDevices = createForeignDevices({ bus, root, prefix, logger, take: onMessage, ready: schedule })
  /** A newer one takes the place of one that is under way. */
  let republications = 0
  let starting: Promise<void> | undefined
  let reconciled = false
  let closed = false

  function publish(about: string, topic: string, text: string): void {
    bus.publish(topic, text, { qos: 1, retain: true, about }).catch((error: unknown) => {
      if (!closed) logger.warn('Home Assistant could not be told', { topic, reason: error })
    })
  }

  function installed(id: string): Plugin | undefined {
    return lifecycle.status(id) === undefined ? undefined : lifecycle.get(id)
  }

  function precedes(...ids: [plugin: string, other: string]): boolean {
    const [one, other] = ids.map(installed)
    return one !== undefined && (other === undefined || byInstallationTime(one, other) < 0)
  }

  /** All that a plugin has, but for `kept`. */
  function clear(id: string, kept: ReadonlySet<string> = new Set()): void {
    for (const [key, { topic }] of published.ofPlugin(id)) {
      if (kept.has(key)) continue
      published.forget(key)
      publish(id, topic, '')
      topicCollisions.release(topic)
    }
  }

  function show(plugin: Plugin): void {
    published.readPossibleCollisions(plugin.id)
    const byDevice = new Map<string | undefined, ExposureView[]>()
    for (const view of lifecycle.exposures(plugin.id))
      getOrInsert(byDevice, view.exposure.device?.id, () => []).push(view)
    const bridged = new Set([...byDevice.keys()].filter((id) => id !== undefined))
    clear(plugin.id, new Set([...byDevice.keys()].map((device) => keyOf({ plugin: plugin.id, device }))))
    const changed = viaDevicesFirst(byDevice).flatMap((device) => publishRemovals(plugin, ...device, bridged))
    for (const { topic, text } of changed) publish(plugin.id, topic, text)
  }

  /**
   * What is gone of a device goes first: an entity may have gone to another one, and Home Assistant ignores what has the id of one
   * that is still there. Answers the message that is to follow, if there is one.
   */
  function publishRemovals(
    plugin: Plugin,
    device: string | undefined,
    exposures: readonly ExposureView[],
    bridged: ReadonlySet<string>,
  ): Pick<PublishedDevice, 'topic' | 'text'>[] {
    const key = keyOf({ plugin: plugin.id, device })
    const topic = discoveryTopic(prefix, hostId, plugin, device)
    if (topicCollisions.isTaken(topic, key, plugin.id)) {
      published.forget(key)
      return []
    }
    const present = published.get(key)
    const sources = sourcesOf(plugin, exposures, bridged)
    // Of hundreds of devices mostly one has changed.
    if (present?.sources !== undefined && areSameSources(present.sources, sources)) return []
    const discovery = discoveryOf(
      { hostId, hostVersion, root, isFleet: responsibility !== undefined },
      plugin,
      exposures,
      bridged,
      { present: present?.uniqueIds, isTaken: (uniqueId) => published.isTaken(uniqueId, plugin.id) },
    )
    if (discovery.leftOut > 0)
      logger.warn('Home Assistant is not told of everything that a plugin exposes: it is too much', {
        plugin: plugin.id,
        leftOut: discovery.leftOut,
      })
    const text = JSON.stringify(discovery.payload)
    if (present?.text === text && present.isOverwritten !== true) {
      present.sources = sources
      return []
    }
    const removal = present === undefined ? undefined : removalOf(present, discovery)
    if (removal !== undefined) publish(plugin.id, topic, JSON.stringify(removal))
    const { platforms, uniqueIds } = discovery
    published.keep({ plugin: plugin.id, device, topic, text, platforms, uniqueIds, sources })
    return [{ topic, text }]
  }

  function clearLeftovers(): void {
    if (closed || responsibility?.isCoordinator() !== true) return
    for (const { plugin, topic } of published.foreignDevices()) {
      if (lifecycle.status(plugin) !== undefined) continue
      published.forgetForeign(topic)
      publish(plugin, topic, '')
    }
  }

  function reconcile(id: string): void {
    if (!speaksFor(id)) {
      // Its host may be gone for good.
      if (lifecycle.status(id) === undefined) clearLeftovers()
      return
    }
    // It may load here before this host is told to speak for it.
    if (published.takeOver(id)) foreignDevices.read()
    if (foreignDevices.deferUntilRead(id)) return
    if (lifecycle.status(id)?.state !== 'running') {
      if (!isTemporarilyDown(lifecycle, id)) clear(id)
    } else if (lifecycle.isIntact(id)) show(lifecycle.get(id))
    // Otherwise it has lost its worker, and its next state says what becomes of it.
  }

  function reconcileWaiting(): void {
    const ids = [...waiting]
    waiting.clear()
    if (!closed) for (const id of ids) reconcile(id)
  }

  /** What is announced in one go ends in one message. */
  function schedule(id: string): void {
    if (waiting.size === 0) queueMicrotask(reconcileWaiting)
    waiting.add(id)
  }

  function follow(announcement: Announcement): void {
    if (announcement.kind === 'exposure') schedule(announcement.plugin)
    else if (announcement.kind === 'lifecycle' && announcement.event.plugin !== null)
      schedule(announcement.event.plugin)
  }

  /** As fast as the broker takes it: all devices of a large house are more than may wait. */
  async function republish(): Promise<void> {
    republications += 1
    const own = republications
    const pace = createPublishPacer(bus, () => closed || own !== republications)
    for (const { plugin, topic, text } of published.all()) {
      publish(plugin, topic, text)
      if (pace.sent(text.length) && !(await pace.pause())) return
    }
  }

  function onMessage({ topic, payload, retained }: BusMessage): void {
    if (closed) return
    const before = responsibility === undefined ? undefined : published.forgetForeign(topic)
    if (retained) onRetained(topic, payload)
    else if (responsibility !== undefined) onPublished(topic, payload, before)
  }

  /** What this host once published: it is still true, or is replaced, or belongs to nothing any more. */
  function onRetained(topic: string, payload: Uint8Array): void {
    const entry = readPublished(topic, payload, hostId)
    if (entry === undefined) return
    const { plugin: id, device, text, uniqueIds } = entry
    if (!speaksFor(id)) {
      const bytes = payload.length
      published.keepForeign({ plugin: id, device, topic, uniqueIds, bytes, read: () => entry })
      clearLeftovers()
      return
    }
    const plugin = installed(id)
    if (plugin === undefined || discoveryTopic(prefix, hostId, plugin, device) !== topic) {
      publish(id, topic, '')
      return
    }
    // It may have been on its way while it was replaced.
    if (published.get(keyOf(entry))?.text === text) return
    published.keep(entry)
    if (reconciled) reconcile(plugin.id)
  }

  /**
   * What another host says, or a plugin or a client, which may have megabytes: it is read when this host takes the plugin over.
   * It may be of a plugin whose installation this host has not heard of, so nothing is cleared for it. Ids `before` stay taken.
   */
  function onPublished(topic: string, payload: Uint8Array, before: ForeignDevice | undefined): void {
    const address = readDeviceAddress(payload, hostId)
    if (address === undefined) topicCollisions.release(topic)
    if (address === undefined || speaksFor(address.plugin)) return
    // Of its own, and not of all that came in the same packet.
    const bytes = new Uint8Array(payload)
    const uniqueIds = before?.plugin === address.plugin ? before.uniqueIds : undefined
    const read = (): PublishedDevice | undefined => readPublished(topic, bytes, hostId)
    published.keepForeign({ ...address, topic, uniqueIds, bytes: bytes.length, isUnread: true, read })
  }

  async function startAll(): Promise<void> {
    cleanUps.push(lifecycle.subscribe(follow))
    // The broker may have lost what it retained.
    cleanUps.push(bus.onReconnect(() => void republish()))
    // What is retained is looked at first: it need not be said again, and what is gone of it must be told.
    subscriptions.push(await bus.subscribe(`${prefix}/status`, births.take))
    subscriptions.push(await bus.subscribe(`${prefix}/device/+/config`, onMessage))
    reconciled = true
    // Of ids that are written alike the plugin that was installed first keeps its own, where nothing retained says otherwise.
    for (const { id } of [...lifecycle.list()].sort(byInstallationTime)) reconcile(id)
  }

  return {
    start: () => (starting ??= closed ? Promise.resolve() : startAll()),
    take(plugin) {
      if (!closed) schedule(plugin)
    },
    drop: published.handOver,
    clearLeftovers,
    announces: (topic) => published.keyAt(topic) !== undefined,
    async close() {
      if (closed) return
      closed = true
      births.close()
      foreignDevices.close()
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
      await starting?.catch(() => undefined)
      await Promise.all(subscriptions.map((subscription) => subscription.close()))
    },
  }
}
