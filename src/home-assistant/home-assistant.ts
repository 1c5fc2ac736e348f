import { isJsonObject } from '../base/json.ts'
import type { Logger } from '../base/log.ts'
import { messageOf } from '../base/problem.ts'
import type { Bus, BusMessage, BusSubscription } from '../bus/bus.ts'
import { discoveryTopic } from '../schema/topics.ts'
import { parseJsonText } from '../schema/json-text.ts'
import type { Plugin } from '../schema/plugin.ts'
import type { Announcement, Lifecycle } from '../lifecycle/lifecycle.ts'
import { deviceIdentifierPrefix, type Discovery, discoveryOf, removalOf } from './discovery-payload.ts'

export interface HomeAssistantSettings {
  lifecycle: Lifecycle
  bus: Bus
  /** First levels of the host's topics. */
  root: string
  /** First levels of Home Assistant's own topics, `homeassistant`. */
  prefix: string
  hostId: string
  hostVersion: string
  logger: Logger
}

/** Tells Home Assistant of everything that plugins expose, by its device discovery. */
export interface HomeAssistant {
  /** Publishes how things are, clears what is retained of things that are no more, and follows from there. */
  start(): Promise<void>
  /**
   * Stops, and leaves the retained messages: that the host is not there is a matter of availability, and
   * Home Assistant would forget the devices. Idempotent.
   */
  close(): Promise<void>
}

interface Published {
  topic: string
  text: string
  platforms: Discovery['platforms']
}

/** On the way from one state to the next: a reload must not make Home Assistant forget the device. */
const passingStates: ReadonlySet<Plugin['state']> = new Set(['loading', 'unloading', 'installing'])

export function createHomeAssistant(settings: HomeAssistantSettings): HomeAssistant {
  const { lifecycle, bus, root, prefix, hostId, hostVersion, logger } = settings
  const published = new Map<string, Published>()
  const waiting = new Set<string>()
  const subscriptions: BusSubscription[] = []
  const cleanUps: (() => void)[] = []
  let starting: Promise<void> | undefined
  let reconciled = false
  let closed = false

  function publish(topic: string, text: string): void {
    bus.publish(topic, text, { qos: 1, retain: true }).catch((error: unknown) => {
      if (!closed) logger.warn('Home Assistant could not be told', { topic, reason: messageOf(error) })
    })
  }

  function installed(id: string): Plugin | undefined {
    try {
      return lifecycle.get(id)
    } catch {
      // Not installed: nothing else keeps the lifecycle from answering.
      return undefined
    }
  }

  function clear(id: string): void {
    const present = published.get(id)
    published.delete(id)
    if (present !== undefined) publish(present.topic, '')
  }

  /** Two plugins may have one topic: Home Assistant does not take every character that an id may have. */
  function isTaken(topic: string, id: string): boolean {
    const other = [...published].find(([, present]) => present.topic === topic)?.[0]
    if (other === undefined || other === id) return false
    logger.warn('Home Assistant cannot tell two plugins apart; the second one is not shown', {
      plugin: id,
      other,
      topic,
    })
    return true
  }

  function show(plugin: Plugin): void {
    const exposures = lifecycle.exposures(plugin.id)
    const topic = discoveryTopic(prefix, hostId, plugin)
    if (exposures.length === 0) {
      clear(plugin.id)
      return
    }
    if (isTaken(topic, plugin.id)) return
    const discovery = discoveryOf({ hostId, hostVersion, root }, plugin, exposures)
    if (discovery.leftOut > 0)
      logger.warn('Home Assistant is not told of everything that a plugin exposes: it is too much', {
        plugin: plugin.id,
        leftOut: discovery.leftOut,
      })
    const text = JSON.stringify(discovery.payload)
    const present = published.get(plugin.id)
    if (present?.text === text) return
    const removal = present === undefined ? undefined : removalOf(present.platforms, discovery)
    if (removal !== undefined) publish(topic, JSON.stringify(removal))
    published.set(plugin.id, { topic, text, platforms: discovery.platforms })
    publish(topic, text)
  }

  function reconcile(id: string): void {
    const plugin = installed(id)
    if (plugin === undefined) clear(id)
    else if (plugin.state === 'running') show(plugin)
    else if (!passingStates.has(plugin.state)) clear(id)
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

  function republish(): void {
    for (const { topic, text } of published.values()) publish(topic, text)
  }

  /** Home Assistant has started, and knows nothing. A retained birth message is old news. */
  function onStatus({ payload, retained }: BusMessage): void {
    if (!closed && !retained && Buffer.from(payload).toString().trim() === 'online') republish()
  }

  /** What this host once published: it is still true, or is replaced, or belongs to nothing any more. */
  function onRetained({ topic, payload, retained }: BusMessage): void {
    const before = closed || !retained ? undefined : readOwn(payload, hostId)
    if (before === undefined) return
    const plugin = lifecycle.list().find((candidate) => discoveryTopic(prefix, hostId, candidate) === topic)
    if (plugin === undefined) {
      publish(topic, '')
      return
    }
    const text = Buffer.from(payload).toString()
    const present = published.get(plugin.id)
    // It may have been on its way while it was replaced.
    if (present?.text === text) return
    published.set(plugin.id, { topic, text, platforms: before })
    if (reconciled) reconcile(plugin.id)
  }

  async function startAll(): Promise<void> {
    cleanUps.push(lifecycle.subscribe(follow))
    // The broker may have lost what it retained.
    cleanUps.push(bus.onReconnect(republish))
    // What is retained is looked at first: it need not be said again, and what is gone of it must be told.
    for (const [filter, handler] of [
      [`${prefix}/status`, onStatus],
      [`${prefix}/device/+/config`, onRetained],
    ] as const) {
      subscriptions.push(await bus.subscribe(filter, handler))
    }
    reconciled = true
    for (const { id } of lifecycle.list()) reconcile(id)
  }

  return {
    start: () => (starting ??= closed ? Promise.resolve() : startAll()),
    async close() {
      if (closed) return
      closed = true
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
      await starting?.catch(() => undefined)
      await Promise.all(subscriptions.map((subscription) => subscription.close()))
    },
  }
}

/**
 * The platforms of a discovery message, if it is of a device of this host's; its topic alone would not tell
 * hosts apart.
 */
function readOwn(payload: Uint8Array, hostId: string): Discovery['platforms'] | undefined {
  const parsed = payload.length === 0 ? undefined : parseJsonText(payload)
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return undefined
  const { dev, cmps } = parsed.value
  const ids = isJsonObject(dev) && Array.isArray(dev.ids) ? dev.ids : []
  if (!ids.some((id) => typeof id === 'string' && id.startsWith(deviceIdentifierPrefix(hostId))))
    return undefined
  const platforms = new Map<string, string>()
  for (const [key, component] of Object.entries(isJsonObject(cmps) ? cmps : {}))
    if (isJsonObject(component) && typeof component.p === 'string') platforms.set(key, component.p)
  return platforms
}
