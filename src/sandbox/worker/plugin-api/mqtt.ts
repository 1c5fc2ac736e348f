import { jsonText } from '../../../base/text/json.ts'
import { memoize } from '../../../base/memoize.ts'
import { isBelow } from '../../../base/topic-filter.ts'
import { refusalSentence } from '../../../schema/manifest/permission-refusal.ts'
import { retainedSentence } from '../../../schema/plugin/retained-account.ts'
import { fits, textLimits } from '../../../schema/parsing/text-limits.ts'
import { mayPluginSubscribe, publishRefusalMessage } from '../../../schema/manifest/topic-rights.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { deliveryOptions, functionArgument, isTable, textArgument, typeName } from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'
import { messageSizeLimit } from './listeners.ts'
import { createRegistrations } from './registrations.ts'

export interface PluginMqtt {
  deliver(subscription: number, topic: string, payload: Uint8Array): void
}

/** `mqttPublish` and `mqttSubscribe` (plugin API, section 8). Topics are used as written. */
export function installMqtt(context: PluginContext): PluginMqtt {
  const { entry, source } = context
  const subscriptions = createRegistrations(context, {
    ...{ stage: 'mqttSubscriptions', limit: 'mqttSubscriptions', plural: 'subscriptions' },
    removed: (subscription) => context.send({ kind: 'unsubscribeTopic', subscription }),
  })

  /** Why it may not publish there. Throws for what is no topic. */
  const whyNot = memoize((topic) => {
    assertTopic(topic)
    if (/[+#]/.test(topic)) throw new Error(`cannot publish to '${topic}': a topic has no wildcards`)
    return publishRefusalMessage(source.topics, topic)
  })

  context.addCallerAwareMethod('mqttPublish', (foreignCaller, topic, payload, options) => {
    const name = textArgument('mqttPublish', 1, topic, textLimits.topic)
    const refusedTopic = whyNot(name)
    const bytes = payloadOf(context, name, payload)
    if (bytes.byteLength > messageSizeLimit) {
      throw new Error(`the payload is too large: ${bytes.byteLength} of at most ${messageSizeLimit} bytes`)
    }
    const refusedForeignCall = context.refuseForeignCall(foreignCaller, 'publish', name)
    if (refusedForeignCall !== undefined) return [false, toBytes(refusedForeignCall)]
    const delivery = deliveryOptions(options)
    let refused = refusedTopic
    if (refused === undefined && delivery.retain && !isBelow(source.topics.root, name)) {
      if (!context.retain(foreignCaller, name, bytes.byteLength)) refused = retainedSentence(name)
      // The host knows no foreign callers here, and would allow it.
      if (refused !== undefined && foreignCaller !== undefined) return [false, toBytes(refused)]
    }
    // The host is asked all the same: it is the one who refuses, logs and counts.
    context.sendFrame('message', name, bytes, { options: delivery })
    return refused === undefined ? true : [false, toBytes(refused)]
  })

  context.addCallerAwareMethod('mqttSubscribe', (foreignCaller, filter, callback) => {
    const pattern = textArgument('mqttSubscribe', 1, filter, textLimits.topic)
    assertFilter(pattern)
    const run = functionArgument('mqttSubscribe', 2, callback)
    subscriptions.assertRoom(foreignCaller)
    const refusedForeignCall = context.refuseForeignCall(foreignCaller, 'subscribe', pattern)
    if (refusedForeignCall !== undefined) throw new Error(refusedForeignCall)
    const subscription = subscriptions.add(`subscriber of '${pattern}'`, { run }, foreignCaller)
    context.send({ kind: 'subscribeTopic', subscription, filter: pattern })
    if (!mayPluginSubscribe(source.topics, pattern)) {
      subscriptions.remove(subscription)
      throw new Error(refusalSentence(source.id, 'subscribe', pattern))
    }
    return subscriptions.unsubscribe(subscription)
  })

  return {
    deliver(subscription, topic, payload) {
      const receive = subscriptions.find(subscription)?.run
      if (receive === undefined) return
      // A copy: Lua keeps what it is given, and this is a part of all that has come.
      entry.call(`subscriber of '${topic}'`, receive, toBytes(topic), Uint8Array.from(payload))
    },
  }
}

function payloadOf(context: PluginContext, topic: string, payload: LuaValue): Uint8Array {
  if (payload instanceof Uint8Array) return payload
  if (payload === undefined) return new Uint8Array()
  if (isTable(payload)) return toBytes(jsonText(context.toJson(payload, 'message', topic)))
  if (typeof payload === 'object') throw new Error(`cannot publish a ${typeName(payload)}`)
  return toBytes(context.runtime.toText(payload))
}

function assertTopic(topic: string): void {
  if (!fits(topic, textLimits.topic)) throw new Error(`the topic has more than ${textLimits.topic} bytes`)
  if (topic.includes('\0')) throw new Error('a topic may not contain a NUL character')
}

/** `+` stands for a whole level, `#` for the last ones. */
function assertFilter(filter: string): void {
  assertTopic(filter)
  const levels = filter.split('/')
  for (const [index, level] of levels.entries()) {
    const plusWithin = level.includes('+') && level !== '+'
    const hashMisplaced = level.includes('#') && (level !== '#' || index !== levels.length - 1)
    if (plusWithin || hashMisplaced) throw new Error(`not a valid topic filter: '${filter}'`)
  }
}
