import { type Json, jsonText } from '../base/json.ts'
import type { Logger } from '../base/log.ts'
import { messageOf } from '../base/problem.ts'
import type { Bus, BusMessage, BusSubscription, PublishOptions } from '../bus/bus.ts'
import { createTopics } from '../schema/topics.ts'
import type { JournalEvent, PluginJournalEvent } from '../schema/journal-event.ts'
import type { Plugin } from '../schema/plugin.ts'
import type { Announcement, Lifecycle } from '../lifecycle/lifecycle.ts'

export interface MqttProjectionSettings {
  lifecycle: Lifecycle
  bus: Bus
  root: string
  logger: Logger
}

/** Shows the plugins on MQTT: all outgoing topics of the contract's section 4. */
export interface MqttProjection {
  /** Publishes what happens from now on: from before the first fact of a start, for it is to be told of each. */
  follow(): void
  /** Publishes how things are, and clears what is retained of things that are no more. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Names of events that are remembered for each plugin. */
const eventTopicsLimit = 1_000

interface EventSender extends Required<Pick<PublishOptions, 'qos' | 'retain'>> {
  send(payload: Uint8Array): void
}

/** Retained topics of one plugin, as far as this host published them. */
interface Retained {
  state: boolean
  /** Objects, sensors, controls and what is exposed: they go when the plugin is unloaded. */
  values: Set<string>
}

/** In these states nothing of a plugin is loaded, so none of its values may be left. */
const unloadedStates: ReadonlySet<string> = new Set([
  'notInstalled',
  'installing',
  'installed',
  'unloaded',
  'failed',
  'uninstalled',
])

function isPluginEvent(event: JournalEvent): event is PluginJournalEvent {
  return event.plugin !== null
}

export function createMqttProjection({
  lifecycle,
  bus,
  root,
  logger,
}: MqttProjectionSettings): MqttProjection {
  const topics = createTopics(root)
  const retainedByPlugin = new Map<string, Retained>()
  /** Ways to publish the events that have come of late, by plugin and name. */
  const eventSenders = new Map<string, Map<string, EventSender>>()
  const cleanUps: (() => unknown)[] = []
  let stopInspection = (): void => undefined
  let starting: Promise<void> | undefined
  let closed = false

  function retainedOf(plugin: string): Retained {
    const present = retainedByPlugin.get(plugin)
    if (present !== undefined) return present
    const fresh: Retained = { state: false, values: new Set() }
    retainedByPlugin.set(plugin, fresh)
    return fresh
  }

  function publish(topic: string, payload: string, options?: PublishOptions): void {
    bus.publish(topic, payload, options).catch((error: unknown) => {
      if (!closed) logger.warn('A message could not be published', { topic, reason: messageOf(error) })
    })
  }

  const clear = (topic: string): void => publish(topic, '', { retain: true })

  /** `undefined` with `removed` clears the topic; without it there is a value that nobody knows at present. */
  function publishValue(plugin: string, topic: string, value: Json | undefined, removed: boolean): void {
    const { values } = retainedOf(plugin)
    if (removed) {
      if (values.delete(topic)) clear(topic)
    } else if (value !== undefined || values.has(topic)) {
      values.add(topic)
      publish(topic, jsonText(value ?? null), { retain: true })
    }
  }

  /** An event has happened once: whoever comes later must not take it for a new one. */
  function publishExposed({
    plugin,
    id,
    exposure,
    state,
  }: Pick<Announcement & { kind: 'exposed' }, 'plugin' | 'id' | 'exposure' | 'state'>): void {
    const topic = topics.exposed(plugin, id)
    if (exposure.component === 'event') publish(topic, jsonText(state))
    else publishValue(plugin, topic, state, false)
  }

  function clearValues(plugin: string): void {
    const values = retainedByPlugin.get(plugin)?.values
    for (const topic of values ?? []) clear(topic)
    values?.clear()
  }

  function publishState(
    plugin: string,
    shown: Pick<Plugin, 'state' | 'enabled' | 'error'> & { version: string | null },
    seq: number,
  ): void {
    const { state, enabled, version, error } = shown
    retainedOf(plugin).state = true
    publish(topics.state(plugin), JSON.stringify({ state, enabled, version, error, seq }), { retain: true })
  }

  function forget(plugin: string): void {
    clear(topics.state(plugin))
    clearValues(plugin)
    retainedByPlugin.delete(plugin)
    eventSenders.delete(plugin)
  }

  function installed(plugin: string): Plugin | undefined {
    try {
      return lifecycle.get(plugin)
    } catch {
      // Not installed: nothing else keeps the lifecycle from answering.
      return undefined
    }
  }

  function followLifecycle(event: JournalEvent): void {
    publish(topics.lifecycle, jsonText(event), { qos: 1 })
    if (!isPluginEvent(event)) return
    const state = event.state as Plugin['state']
    if (state === 'uninstalled' || state === 'notInstalled') {
      forget(event.plugin)
      return
    }
    if (unloadedStates.has(state)) {
      clearValues(event.plugin)
      eventSenders.delete(event.plugin)
    }
    const { enabled = false, version = null, error = null } = installed(event.plugin) ?? {}
    publishState(event.plugin, { state, enabled, version, error }, event.seq)
  }

  /** Whether there is room for it, if it is to be retained, has been looked at; it goes when the plugin is uninstalled. */
  function publishEvent({ plugin, name, data, qos, retain }: Announcement & { kind: 'event' }): void {
    const known = eventSenders.get(plugin)?.get(name)
    if (known?.qos === qos && known.retain === retain) {
      known.send(data.bytes)
      return
    }
    const topic = topics.event(plugin, name)
    try {
      const send = bus.prepare(topic, { qos, retain, publisher: plugin })
      let ofPlugin = eventSenders.get(plugin)
      if (ofPlugin === undefined || ofPlugin.size >= eventTopicsLimit) ofPlugin = new Map()
      eventSenders.set(plugin, ofPlugin.set(name, { qos, retain, send }))
      send(data.bytes)
    } catch (error) {
      logger.warn('A message could not be published', { topic, reason: messageOf(error) })
    }
  }

  function follow(announcement: Announcement): void {
    const { kind } = announcement
    if (kind === 'lifecycle') {
      followLifecycle(announcement.event)
      if (announcement.event.plugin === null) publishSafeMode()
    } else if (kind === 'log') publish(topics.log(announcement.plugin), jsonText(announcement.entry))
    else if (kind === 'event') publishEvent(announcement)
    else if (kind === 'object') {
      const { plugin, path, value } = announcement
      publishValue(plugin, topics.object(plugin, path), value, value === undefined)
    } else if (kind === 'exposure') {
      const { plugin, id, exposure } = announcement
      if (exposure === undefined) publishValue(plugin, topics.exposed(plugin, id), undefined, true)
    } else if (kind === 'exposed') publishExposed(announcement)
    else {
      const { plugin, id, value, removed } = announcement
      publishValue(plugin, topics[kind](plugin, id), value, removed)
    }
  }

  /** Retained: whoever comes later wants to know why nothing is loaded. */
  function publishSafeMode(): void {
    const { safeMode } = lifecycle
    publish(topics.safeMode, safeMode === null ? '' : JSON.stringify(safeMode), { retain: true })
  }

  function publishAll(): void {
    publishSafeMode()
    for (const plugin of lifecycle.list()) {
      publishState(plugin.id, plugin, lifecycle.lastSeq)
      for (const [path, value] of Object.entries(lifecycle.objects(plugin.id))) {
        publishValue(plugin.id, topics.object(plugin.id, path), value, false)
      }
      for (const { id, value } of lifecycle.sensors(plugin.id)) {
        publishValue(plugin.id, topics.sensor(plugin.id, id), value ?? undefined, false)
      }
      for (const { id, value } of lifecycle.controls(plugin.id)) {
        publishValue(plugin.id, topics.control(plugin.id, id), value ?? undefined, false)
      }
      for (const { id, exposure, state } of lifecycle.exposures(plugin.id)) {
        if (Object.keys(state).length > 0) publishExposed({ plugin: plugin.id, id, exposure, state })
      }
    }
  }

  /** A retained message below `R/plugins/` that this host, in this run, has not published: is it still true? */
  function clearIfStale({ topic, payload, retained }: BusMessage): void {
    const parsed = topics.parsePlugin(topic)
    if (!retained || payload.length === 0 || parsed === undefined) return
    const { plugin, rest } = parsed
    const known = retainedByPlugin.get(plugin)
    if (known?.values.has(topic) || (rest === 'state' && known?.state)) return
    if (installed(plugin) !== undefined) {
      // An event that a plugin wanted to be retained outlives the host.
      if (rest.startsWith('events/')) return
      // Somebody else's; it is not carried out, but not the host's to remove either.
      if ((topics.parseControlSet(topic) ?? topics.parseExposedSet(topic)) !== undefined) return
    }
    clear(topic)
  }

  /**
   * Looks at what the broker has retained below `R/plugins/`, once: the host's own messages would all come
   * back on this subscription. A message on `R/plugins` itself, which the filter matches too, comes after
   * everything that is retained, and ends it.
   */
  async function clearStale(): Promise<void> {
    const marker = topics.allPlugins.replace(/\/#$/, '')
    stopInspection()
    const inspection: { subscription?: BusSubscription; ended: boolean } = { ended: false }
    const end = (): void => {
      inspection.ended = true
      void inspection.subscription?.close()
    }
    inspection.subscription = await bus.subscribe(topics.allPlugins, (message) => {
      if (message.topic === marker && !message.retained) end()
      else if (!closed) clearIfStale(message)
    })
    stopInspection = end
    if (inspection.ended) end()
    publish(marker, '', { qos: 1 })
  }

  async function reconcile(): Promise<void> {
    publishAll()
    await clearStale()
  }

  async function startAll(): Promise<void> {
    cleanUps.push(
      bus.onReconnect(() => {
        reconcile().catch((error: unknown) => {
          if (!closed) logger.error('MQTT could not be brought up to date', { reason: messageOf(error) })
        })
      }),
    )
    await reconcile()
  }

  return {
    follow: () => void cleanUps.push(lifecycle.subscribe(follow)),
    start: () => (starting ??= closed ? Promise.resolve() : startAll()),
    async close() {
      closed = true
      await starting?.catch(() => undefined)
      stopInspection()
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
    },
  }
}
