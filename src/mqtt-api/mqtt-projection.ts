import { jsonText } from '../base/text/json.ts'
import type { Logger } from '../base/log/log.ts'
import type { Bus, PublishOptions, Sender } from '../bus/bus.ts'
import { createTopics } from '../schema/names/topics.ts'
import type { JournalEventView, PluginEventView } from '../schema/journal/journal-event.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import type { LifecyclePublisher } from './lifecycle-publisher.ts'
import { createBrokerReconciler } from './broker-reconciler.ts'
import { createStaleTopics } from './stale-topics.ts'
import { soleHost, type Responsibility } from './responsibility.ts'
import { createValueTopics, type ValueTopics } from './value-topics.ts'
import type { Announcement, Lifecycle } from '../lifecycle/lifecycle.ts'

export interface MqttProjectionSettings {
  lifecycle: Lifecycle
  bus: Bus
  root: string
  logger: Logger
  /** Absent: this host speaks for all its plugins, and for itself. */
  responsibility?: Responsibility
  /** Of the events of the journal, where they are not published just as they happen; ends with the rest. */
  publisher?: LifecyclePublisher | undefined
}

/** Shows the plugins on MQTT: all outgoing topics of the contract's section 4. */
export interface MqttProjection {
  /** Publishes what happens from now on: from before the first fact of a start, for it is to be told of each. */
  follow(): void
  /** Publishes how things are, and clears what is retained of things that are no more. */
  start(): Promise<void>
  /** This host speaks for the plugin from now on: what the host before has left there is replaced, or goes. */
  take(plugin: string): void
  /** Another host does. */
  drop(plugin: string): void
  /** Publishes the state of a plugin that has changed without an event. What it showed goes when nobody runs it. */
  show(plugin: string): void
  /** The same for plugins that nobody runs any more. Resolves when what they showed was looked for. */
  abandon(plugins: readonly string[]): Promise<void>
  close(): Promise<void>
}

const atOnce = { qos: 0, retain: false } as const
/** Names of events that are remembered for each plugin. */
const eventTopicsLimit = 1_000

/** Topics of one plugin on which this host has published. */
interface PluginTopics {
  /** Whether its state is retained. */
  state: boolean
  values: ValueTopics
  /** Ways to publish the events that have come of late, by name. */
  events: Map<string, Sender>
  log: Sender | undefined
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

/** A start tells of it in any case. */
const safeModeFacts: ReadonlySet<string> = new Set(['HostSafeModeEntered', 'HostSafeModeLeft'])

function isPluginEvent(event: JournalEventView): event is PluginEventView {
  return event.plugin !== null
}

export function createMqttProjection({
  lifecycle,
  bus,
  root,
  logger,
  responsibility = soleHost,
  publisher,
}: MqttProjectionSettings): MqttProjection {
  const topics = createTopics(root)
  const topicsByPlugin = new Map<string, PluginTopics>()
  const cleanUps: (() => unknown)[] = []
  let starting: Promise<void> | undefined
  let closed = false

  function topicsOf(plugin: string): PluginTopics {
    const present = topicsByPlugin.get(plugin)
    if (present !== undefined) return present
    const values = createValueTopics(plugin, { bus, topics })
    const fresh: PluginTopics = { state: false, values, events: new Map(), log: undefined }
    topicsByPlugin.set(plugin, fresh)
    return fresh
  }

  function publish(topic: string, payload: string, options?: PublishOptions): void {
    bus.publish(topic, payload, options).catch((error: unknown) => {
      if (!closed) logger.warn('A message could not be published', { topic, reason: error })
    })
  }

  const clear = (topic: string): void => publish(topic, '', { retain: true })

  const stale = createStaleTopics({
    ...{ lifecycle, bus, topics, logger, responsibility, publish, clear },
    shown: topicsByPlugin,
    closed: () => closed,
  })

  /** An event has happened once: whoever comes later must not take it for a new one. */
  function publishExposed({ plugin, id, exposure, state }: Announcement & { kind: 'exposed' }): void {
    if (exposure.component === 'event') bus.prepare(topics.exposed(plugin, id))(state.bytes, atOnce)
    else topicsOf(plugin).values.publishExposed(id, exposure, state)
  }

  function followExposure({ plugin, id, exposure }: Announcement & { kind: 'exposure' }): void {
    const { values } = topicsOf(plugin)
    if (exposure === undefined || exposure.component === 'event') values.clear('exposed', id)
    else values.publishAvailability(id, exposure)
  }

  function publishState(
    plugin: string,
    shown: Pick<Plugin, 'state' | 'enabled' | 'error' | 'host' | 'epoch'> & { version: string | null },
    seq: number,
  ): void {
    const { state, enabled, version, error, host, epoch } = shown
    topicsOf(plugin).state = true
    publish(topics.state(plugin), JSON.stringify({ state, enabled, version, error, host, epoch, seq }), {
      retain: true,
    })
  }

  function forget(plugin: string): void {
    clear(topics.state(plugin))
    topicsByPlugin.get(plugin)?.values.clearAll()
    topicsByPlugin.delete(plugin)
  }

  function followLifecycle(event: JournalEventView): void {
    if (publisher !== undefined) publisher.follow(event)
    else if (responsibility === soleHost) publish(topics.lifecycle, jsonText(event), { qos: 1 })
    if (!isPluginEvent(event)) return
    const state = event.state as Plugin['state']
    const isGone = state === 'uninstalled' || state === 'notInstalled'
    if (!responsibility.isResponsibleFor(event.plugin)) {
      // Whoever has it may be cut off just now, and nobody takes it over who would find what is left.
      if (isGone && responsibility.isCoordinator()) stale.clearSoon()
      return
    }
    if (isGone) {
      forget(event.plugin)
      return
    }
    if (unloadedStates.has(state)) {
      const known = topicsByPlugin.get(event.plugin)
      known?.values.clearAll()
      known?.events.clear()
    }
    const status = lifecycle.status(event.plugin)
    const { enabled = false, version = null, error = null } = status ?? {}
    const { host, epoch } = event
    // Where no host of a fleet may run it nobody has it loaded, whatever the event says of it.
    const shown = responsibility !== soleHost && status?.state === 'unloaded' ? 'unloaded' : state
    publishState(event.plugin, { state: shown, enabled, version, error, host, epoch }, event.seq)
  }

  /** Whether there is room for it, if it is to be retained, has been looked at; it goes when the plugin is uninstalled. */
  function publishEvent({ plugin, name, data, qos, retain }: Announcement & { kind: 'event' }): void {
    const { events } = topicsOf(plugin)
    let send = events.get(name)
    if (send === undefined) {
      send = bus.prepare(topics.event(plugin, name), plugin)
      if (events.size >= eventTopicsLimit) events.clear()
      events.set(name, send)
    }
    send(data.bytes, { qos, retain })
  }

  function publishLine({ plugin, line }: Announcement & { kind: 'log' }): void {
    const ofPlugin = topicsOf(plugin)
    ofPlugin.log ??= bus.prepare(topics.log(plugin))
    ofPlugin.log(line.bytes, atOnce)
  }

  function follow(announcement: Announcement): void {
    switch (announcement.kind) {
      case 'lifecycle':
        followLifecycle(announcement.event)
        if (safeModeFacts.has(announcement.event.type)) publishSafeMode()
        break
      case 'event':
        publishEvent(announcement)
        break
      case 'log':
        publishLine(announcement)
        break
      case 'exposed':
        publishExposed(announcement)
        break
      case 'exposure':
        followExposure(announcement)
        break
      case 'object': {
        const { kind, plugin, path, value } = announcement
        if (value === undefined) topicsOf(plugin).values.clear(kind, path)
        else topicsOf(plugin).values.publish(kind, path, value.bytes)
        break
      }
      default: {
        const { kind, plugin, id, value, removed } = announcement
        if (removed) topicsOf(plugin).values.clear(kind, id)
        else topicsOf(plugin).values.publish(kind, id, value?.bytes)
      }
    }
  }

  /** Retained: whoever comes later wants to know why nothing is loaded. */
  function publishSafeMode(): void {
    if (!responsibility.isCoordinator()) return
    const { safeMode } = lifecycle
    publish(topics.safeMode, safeMode === null ? '' : JSON.stringify(safeMode), { retain: true })
  }

  function showState(plugin: string): Plugin['state'] | undefined {
    const status = lifecycle.status(plugin)
    if (status !== undefined) publishState(plugin, status, lifecycle.lastSeq)
    return status?.state
  }

  const reconcile = createBrokerReconciler({
    ...{ lifecycle, bus, responsibility, publishSafeMode, showState },
    valuesOf: (plugin) => topicsOf(plugin).values,
    clearStale: stale.clear,
    closed: () => closed,
  })

  async function startAll(): Promise<void> {
    cleanUps.push(
      bus.onReconnect(() => {
        reconcile().catch((error: unknown) => {
          if (!closed) logger.error('MQTT could not be brought up to date', { reason: error })
        })
      }),
    )
    publisher?.start()
    await reconcile()
  }

  return {
    follow: () => void cleanUps.push(lifecycle.subscribe(follow)),
    start: () => (starting ??= closed ? Promise.resolve() : startAll()),
    take(plugin) {
      if (closed) return
      stale.take(plugin)
      showState(plugin)
    },
    drop(plugin) {
      stale.drop(plugin)
      topicsByPlugin.delete(plugin)
    },
    show(plugin) {
      // A host that works by itself has cleared its own.
      if (showState(plugin) === 'unloaded' && responsibility !== soleHost) stale.clearSoon()
    },
    async abandon(plugins) {
      for (const plugin of plugins) showState(plugin)
      await stale.cleared()
    },
    async close() {
      closed = true
      await starting?.catch(() => undefined)
      stale.close()
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
      await publisher?.close()
    },
  }
}
