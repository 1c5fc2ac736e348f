import type { Clock } from '../../base/time/clock.ts'
import { cutTexts } from '../../base/text/cut-text.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { type SerializedJson, serializeJson } from '../../base/text/serialized-json.ts'
import type { Bus } from '../../bus/bus.ts'
import type { ConnectionAllowance, Outside } from '../../outside/outside.ts'
import type { IsolateServices } from '../../sandbox/isolate.ts'
import type { ValueKind } from '../../schema/worker/message-frames.ts'
import type { LogEntry } from '../../schema/plugin/plugin.ts'
import type { Schedule } from '../../schema/outside/trigger.ts'
import type { PluginSummary } from '../../schema/worker/plugin-call.ts'
import type { LimitName } from '../../schema/plugin/plugin-limits.ts'
import { retainedSentence } from '../../schema/plugin/retained-account.ts'
import { type PluginTopicRights } from '../../schema/manifest/topic-rights.ts'
import { createTopics } from '../../schema/names/topics.ts'
import type { Checks } from '../permissions/guard.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import type { RetainedTopics } from '../stores/retained-topics.ts'
import { createSchedules } from '../triggers/schedules.ts'
import type { Announcements } from './announcements.ts'
import type { EventHub } from './event-hub.ts'
import type { ExposureRegistry } from './exposure-registry.ts'
import { hookAddress } from './hook-addresses.ts'
import type { HookRegistry } from './hook-registry.ts'
import { deliver, type LoadedPlugin } from './loaded-plugin.ts'
import type { ObjectRegistry } from './object-registry.ts'
import { createOutgoingMessages } from './outgoing-messages.ts'
import type { PluginLogs } from './plugin-logs.ts'
import { objectAddress, pluginsNamed } from './plugin-names.ts'
import { createPluginSubscriptions } from './plugin-subscriptions.ts'
import { createPluginWatches } from './plugin-watches.ts'
import { createShownValues } from './shown-values.ts'

const noBytes = new Uint8Array()

export interface PluginServicesSettings {
  bus: Bus
  outside: Outside
  /** First levels of the host's own topics, which plugins may not publish to. */
  root: string
  /** Where the host announces its plugins to Home Assistant; what one says there in its name would be believed. */
  announces(): PluginTopicRights['announces']
  clock: Clock
  logger: Logger
  events: EventHub
  registry: ObjectRegistry
  exposures: ExposureRegistry
  hooks: HookRegistry
  /** Of its addresses; made when there is none, and on disk when this resolves. */
  hookSecret(id: string): Promise<string>
  /** How this host is reached from outside, without a slash at the end. */
  hookBase(): string
  logs: PluginLogs
  stores: KeyValueStores
  retained: RetainedTopics
  announcements: Announcements
  /** Whether this host may act as the plugin. */
  owns(id: string): boolean
  /** A plugin has to be unloaded and loaded again to get another worker. `wanted`: whether that is still so. */
  onMoveAway(id: string, reason: string, wanted: () => boolean): void
  /** A plugin has met one of its limits; once for each limit and load. */
  onLimit(id: string, limit: LimitName, value: number): void
  /** Full ids of all installed plugins, sorted. */
  installedIds(): readonly string[]
  /** The same, as `Plugin.list()` shows them. */
  listPlugins(): PluginSummary[]
}

/** What a plugin that runs gets of the host, and what the host takes back afterwards. */
export interface PluginServices {
  servicesFor(id: string, plugin: LoadedPlugin): IsolateServices
  /**
   * Everything that others could still see or hear of it, in the specification's order. Where another host runs it next
   * (`staysShown`), what it shows of itself stays until that has something else to show.
   */
  withdraw(id: string, plugin: LoadedPlugin): Promise<void>
  /** Adds a line of the host's to the plugin's log. */
  logFor(id: string, level: LogEntry['level'], message: string): void
}

/** `loaded`: by id; whoever works through another's instance is among them. */
export function createPluginServices(
  settings: PluginServicesSettings,
  loaded: ReadonlyMap<string, LoadedPlugin>,
): PluginServices {
  const { bus, outside, root, clock, logger, events, registry, exposures } = settings
  const { logs, stores, retained, announcements } = settings

  const topics = createTopics(root)
  const subscriptions = createPluginSubscriptions(bus, logger)
  const schedules = createSchedules(clock)
  const watches = createPluginWatches({
    ...{ clock, registry, loaded, refusedTo },
    installedIds: settings.installedIds,
  })
  const shown = createShownValues(registry, exposures, announcements, watches)

  function log(plugin: string, line: SerializedJson<LogEntry>): void {
    logs.add(plugin, line.value())
    announcements.announce({ kind: 'log', plugin, line })
  }

  function hostLine(
    plugin: string,
    level: LogEntry['level'],
    message: string,
    fields?: LogEntry['fields'],
  ): void {
    const entry: LogEntry = { at: new Date(clock.now()).toISOString(), level, message }
    log(plugin, serializeJson(cutTexts(fields === undefined ? entry : { ...entry, fields })))
  }

  /** Whether there is room for what a plugin wants to be retained; an empty payload makes room. */
  function mayRetain(id: string, plugin: LoadedPlugin, topic: string, payload: number): boolean {
    if (retained.take(id, topic, payload)) return true
    // Its worker counts alike, and has told whoever called.
    if (!plugin.hasMetRetainedLimit) hostLine(id, 'warn', `Refused: ${retainedSentence(topic)}`)
    plugin.hasMetRetainedLimit = true
    return false
  }

  function servicesFor(id: string, plugin: LoadedPlugin): IsolateServices {
    /** Charges the plugin for what follows from what it says. */
    const charged =
      <A extends unknown[]>(service: (...args: A) => void) =>
      (...args: A): void =>
        bus.causedBy(plugin.fanOut.cause, () => service(...args))
    const allowance: ConnectionAllowance = {
      connect: (host, port, foreignCaller) =>
        (settings.owns(id) ? undefined : 'another host of the fleet has this plugin now') ??
        plugin.guard.connect(host, port) ??
        refusedTo(foreignCaller, ({ connect }) => connect(host, port)),
      serial: (path, foreignCaller) =>
        plugin.guard.serial(path) ?? refusedTo(foreignCaller, ({ serial }) => serial(path)),
      discover: (service, foreignCaller) =>
        plugin.guard.discover(service) ?? refusedTo(foreignCaller, ({ discover }) => discover(service)),
    }
    const publish = createOutgoingMessages({
      ...{ plugin: id, root, bus, guard: plugin.guard },
      mayRetain: (topic, bytes) => mayRetain(id, plugin, topic, bytes),
      isLoaded: (other) => loaded.has(other),
      sets: (other, what) => hostLine(other, 'info', `${id} sets ${what} over MQTT`, { origin: id }),
    })
    return {
      log: charged((line: SerializedJson<LogEntry>) => log(id, line)),
      emit: charged((...[name, data, { qos, retain }, caller]: Parameters<IsolateServices['emit']>) => {
        if (retain && !mayRetain(id, plugin, topics.event(id, name), data.bytes.length)) return
        for (let listener = events.emit(name, data, id); listener > 0; listener -= 1) plugin.fanOut.reached()
        announcements.announce({ kind: 'event', plugin: id, name, data, qos, retain, caller })
      }),
      publish: charged(publish),
      subscribeEvent: ({ name }) =>
        events.subscribe(id, name, (event, data, from) =>
          deliver(plugin, data.bytes, (isolate, bytes) => isolate.deliverEvent(event, bytes, from)),
        ),
      unsubscribeEvent: ({ name }) => events.unsubscribe(id, name),
      subscribeTopic({ subscription, filter }) {
        if (plugin.guard.subscribe(filter) !== undefined) return
        subscriptions.open(
          id,
          plugin,
          { subscription, filter },
          ({ topic, payload }) => {
            if (!plugin.guard.hears(filter, topic)) return
            deliver(plugin, payload, (isolate, bytes) => isolate.deliverMessage(subscription, topic, bytes))
          },
          (error) => hostLine(id, 'warn', `mqttSubscribe to ${filter} failed: ${messageOf(error)}`),
        )
      },
      unsubscribeTopic: ({ subscription }) => subscriptions.close(id, plugin, subscription),
      setValue: charged((kind: ValueKind, name: string, value: SerializedJson | undefined) => {
        // What it shows has been taken back while it was being loaded, and nobody would do so again.
        if (plugin.released !== undefined) return
        for (let told = shown.setValue(id, kind, name, value); told > 0; told -= 1) plugin.fanOut.reached()
      }),
      removeValue({ of, id: name }) {
        if (!plugin.staysShown) shown.removeValue(id, of, name)
      },
      setExposure({ id: exposed, exposure }) {
        if (plugin.released === undefined) shown.setExposure(id, exposed, exposure)
      },
      removeExposure({ id: exposed }) {
        if (!plugin.staysShown) shown.removeExposure(id, exposed)
      },
      congested: () => bus.congested(),
      charged(error) {
        if (plugin.charged !== undefined || plugin.unloading) return
        plugin.charged = error
        void plugin.isolate?.unload()
      },
      limitReached: (limit, value) => settings.onLimit(id, limit, value),
      deliveries: () => plugin.fanOut.take(),
      moveAway: (reason) =>
        settings.onMoveAway(id, reason, () => loaded.get(id) === plugin && !plugin.unloading),
      setHttpHandler({ handler, hook }) {
        if (hook.auth === 'none' && !plugin.guard.publicHooks) return
        settings.hooks.set(id, handler, hook)
        // Its owner sees the address as soon as there is one.
        if (hook.auth === 'secret')
          settings.hookSecret(id).catch((error: unknown) => {
            hostLine(id, 'warn', `its addresses have no secret part yet: ${messageOf(error)}`)
          })
      },
      removeHttpHandler: ({ handler }) => settings.hooks.remove(id, handler),
      hookAddress: async ({ hook }) =>
        hookAddress(
          settings.hookBase(),
          id,
          hook,
          hook.auth === 'secret' ? await settings.hookSecret(id) : '',
        ),
      setSchedule: ({ number, schedule }) =>
        schedules.add(
          id,
          number,
          schedule,
          () => deliver(plugin, noBytes, (isolate) => isolate.deliverSchedule(number)),
          (due) => hostLine(id, 'warn', missedSentence(schedule, due)),
          () => {
            if (loaded.get(id) !== plugin || plugin.unloading) return 'the plugin has ended'
            return schedules.count(id) < plugin.limits.schedules ? undefined : 'too many schedules'
          },
        ),
      removeSchedule: ({ schedule }) => schedules.remove(id, schedule),
      watch: (question) => watches.watch(id, plugin, question),
      unwatch: ({ watch }) => watches.remove(id, watch),
      setKeyValue: ({ key, entry }) => stores.set(id, key, entry),
      request: (call, signal, foreignCaller) =>
        outside.request(id, call, signal, {
          connect: (host, port) => allowance.connect(host, port, foreignCaller),
          httpRequests: plugin.httpRequests,
          serial: (path) => allowance.serial(path, foreignCaller),
          seesSerial: ({ path }) => plugin.guard.seesSerial(path),
        }),
      connect: (target, listener, foreignCaller) =>
        outside.connect(id, target, listener, allowance, foreignCaller),
      refuseConnection: ({ host, port, foreignCaller }) => allowance.connect(host, port, foreignCaller),
      refuseForeignCall: ({ foreignCaller, permission, value }) =>
        refusedTo(foreignCaller, (checks) => checks[permission](value)),
      lookUpObject({ fullPath, foreignCaller }) {
        const found = objectAddress(settings.installedIds(), fullPath)
        const value = found && registry.values(found.plugin, 'object').get(found.path)
        if (found === undefined || value === undefined) return undefined
        const refusal =
          plugin.guard.use(found.plugin) ?? refusedTo(foreignCaller, ({ use }) => use(found.plugin))
        if (refusal !== undefined) throw new Error(refusal)
        return value.value()
      },
      installedAs: (other) => pluginsNamed(settings.installedIds(), other),
      refuseUse: (other) => plugin.guard.use(other),
      listPlugins: () => settings.listPlugins().filter((other) => plugin.guard.sees(other.id)),
    }
  }

  /** Why a plugin that works through another one's instance may not do what the other one may. */
  function refusedTo(
    foreignCaller: string | undefined,
    check: (checks: Checks) => string | undefined,
  ): string | undefined {
    if (foreignCaller === undefined) return undefined
    const guard = loaded.get(foreignCaller)?.guard
    return guard === undefined ? `plugin not running: ${foreignCaller}` : check(guard.foreignCalls)
  }

  return {
    servicesFor,
    async withdraw(id, plugin) {
      const silently = plugin.staysShown
      events.unsubscribeAll(id)
      settings.hooks.clear(id)
      outside.forget(id)
      schedules.clear(id)
      watches.clear(id)
      await subscriptions.closeAll(id, plugin)
      shown.clear(id, { silently })
    },
    logFor: hostLine,
  }
}

/** Whoever waits for the heating in the morning finds out why it has not come. */
function missedSentence(schedule: Schedule, due: number): string {
  const what = schedule.kind === 'cron' ? `cron ${schedule.expression}` : `at ${schedule.time}`
  return `'${what}' did not run for ${new Date(due).toISOString()}: the host was asleep or busy then, and it was too late for it afterwards (catchUp)`
}
