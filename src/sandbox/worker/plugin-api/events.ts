import { isJsonObject, type Json, jsonText } from '../../../base/text/json.ts'
import { hasWildcard, partPattern, partsOfName } from '../../../base/text/part-pattern.ts'
import { serializedJson } from '../../../base/text/serialized-json.ts'
import type { HostFunction, LuaFunction, LuaValue } from '../lua/lua-value.ts'
import type { ForeignCaller } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { retainedSentence } from '../../../schema/plugin/retained-account.ts'
import { createTopics } from '../../../schema/names/topics.ts'
import type { DeliveryOptions } from '../../../schema/worker/message-frames.ts'
import {
  deliveryOptions,
  functionArgument,
  isTable,
  isTruthy,
  option,
  optionalNumber,
  optionalText,
  textArgument,
} from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'
import { assertMessageSize, createListeners, createUnsubscribe } from './listeners.ts'
import { createThrottle } from './throttle.ts'

interface OutgoingEvent {
  name: string
  data: Json | undefined
  options: DeliveryOptions
  foreignCaller: ForeignCaller
}

export interface PluginEvents {
  /** `data`: JSON. `from`: the full id of who has emitted it. */
  deliver(name: string, data: Uint8Array, from?: string): void
}

/** `plugin:emit`, `plugin:on` and `EventBus` (plugin API, section 6). */
export function installEvents(context: PluginContext): PluginEvents {
  const { runtime, entry, resources, limits, foreignCallers } = context
  const topics = createTopics(context.source.topics.root)
  const listeners = createListeners(limits.eventSubscriptions, (count, foreignCaller) =>
    limits.hasRoom('eventSubscriptions', count, foreignCaller),
  )

  /** Names that are listened to and stand for several: `*` for a part between colons. */
  const patterns = new Map<string, (parts: readonly string[]) => boolean>()

  const throttle = createThrottle<OutgoingEvent>(
    context.clock,
    (event) => {
      send(event)
      context.touch()
    },
    {
      most: limits.throttles,
      hasRoom: (count) => limits.hasRoom('throttles', count, foreignCallers.current),
    },
  )

  function retainRefusal({ name, foreignCaller }: OutgoingEvent, payload: string): string | undefined {
    const topic = topics.event(context.source.id, name)
    return context.retain(foreignCaller, topic, Buffer.byteLength(payload))
      ? undefined
      : retainedSentence(topic)
  }

  /** Why it is not sent: there is no room for what is to be retained of it. */
  function send(event: OutgoingEvent): string | undefined {
    const { name, data, options, foreignCaller } = event
    const payload = jsonText(data ?? null)
    // Most are not retained, and need no topic here.
    const refused = options.retain ? retainRefusal(event, payload) : undefined
    // The host knows no share of foreign callers, and would allow it.
    if (refused !== undefined && foreignCaller !== undefined) return refused
    context.sendFrame('event', name, payload, { options, foreignCaller })
    return refused
  }

  context.addCallerAwareMethod('emit', (foreignCaller, name, value, options) => {
    const event = textArgument('emit', 1, name)
    const data = context.toJson(value, 'event', event)
    assertMessageSize(data)
    const outgoing = { name: event, data, options: deliveryOptions(options), foreignCaller }
    const key = optionalText(option(options, 'key'))
    const coalesce = option(options, 'coalesce')
    const milliseconds =
      optionalNumber(option(options, 'throttle')) ?? (typeof coalesce === 'number' ? coalesce : 0)
    if (milliseconds <= 0) {
      const refused = send(outgoing)
      return refused === undefined ? true : [false, toBytes(refused)]
    }
    // Whoever emits through this instance has windows of its own, and holds back none of the plugin's events.
    const window = JSON.stringify([event, key ?? null, foreignCaller ?? null])
    if (isTruthy(coalesce) && key !== undefined) {
      const field = isJsonObject(data) && Object.hasOwn(data, key) ? data[key] : undefined
      if (field === undefined) {
        const message = (): string => `event '${event}': its data has no '${key}' to coalesce: it is not sent`
        context.log.warnOnce(`coalesce ${event} ${key}`, message, foreignCaller)
        return false
      }
      throttle.collect(window, milliseconds, field, (fields) => ({
        ...outgoing,
        data: { [`${key}s`]: fields },
      }))
      return false
    }
    return throttle.offer(window, milliseconds, isTruthy(option(options, 'trailing')), outgoing)
  })

  function subscribe(foreignCaller: ForeignCaller, name: LuaValue, callback: LuaValue): LuaFunction {
    const event = textArgument('on', 1, name)
    const run = functionArgument('on', 2, callback)
    const matches = hasWildcard(event, ':') ? partPattern(event, ':') : undefined
    const listener = listeners.add(event, run, foreignCaller)
    if (listener.first) {
      context.send({ kind: 'subscribeEvent', name: event })
      if (matches !== undefined) patterns.set(event, matches)
    }
    return createUnsubscribe(context, `listener of '${event}'`, run, () => {
      if (!listener.remove()) return
      context.send({ kind: 'unsubscribeEvent', name: event })
      patterns.delete(event)
    })
  }

  context.addCallerAwareMethod('on', subscribe)
  for (const name of ['on', 'subscribe']) {
    // `EventBus:on(…)` and `EventBus.on(…)` are both seen.
    const full = `EventBus:${name}`
    const callable: HostFunction = (...args) => {
      const [event, callback] = isTable(args[0]) ? args.slice(1) : args
      return subscribe(undefined, event, callback)
    }
    context.implement(full, () => runtime.wrap(full, callable))
  }

  resources.add('throttles', { count: throttle.count, release: throttle.clear })
  resources.add('eventSubscriptions', {
    count: listeners.count,
    release() {
      for (const name of listeners.clear()) context.send({ kind: 'unsubscribeEvent', name })
    },
  })

  return {
    deliver(name, data, from) {
      const json = serializedJson(data)
      const more = from === undefined ? [] : [toBytes(from)]
      const tell = (subscription: string): void => {
        // Each listener has a copy of its own: what one changes the next one does not see.
        for (const callback of listeners.each(subscription))
          entry.call(
            `listener of '${subscription}'`,
            callback,
            context.fromJson(json.value()),
            toBytes(name),
            ...more,
          )
      }
      tell(name)
      const parts = partsOfName(name, ':')
      for (const [pattern, matches] of patterns) if (pattern !== name && matches(parts)) tell(pattern)
    },
  }
}
