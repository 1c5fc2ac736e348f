import type { SerializedJson } from '../base/text/serialized-json.ts'
import type { Bus, Sender } from '../bus/bus.ts'
import { type ExposedState, exposedState, type Exposure } from '../schema/plugin/exposure.ts'
import type { ValueKind } from '../schema/worker/message-frames.ts'
import type { Topics } from '../schema/names/topics.ts'

/**
 * The retained topics of what one plugin shows: objects, sensors, controls, exposures with whether they are available. They
 * go when it is unloaded.
 */
export interface ValueTopics {
  /**
   * `value`: JSON. Undefined: nobody knows one at present, which is told where one was known before. Without a connection
   * nothing is kept for the next one, after which all values are said anyway: it would take the place of what happened.
   */
  publish(kind: ValueKind, id: string, value: Uint8Array | undefined): void
  /** The values of an exposure, and whether it is available if that has changed. */
  publishExposed(id: string, exposure: Exposure, state: SerializedJson): void
  /**
   * What is exposed is available unless its values say otherwise. Without `state` (values that are known and may have got
   * lost) only what has not been said is said.
   */
  publishAvailability(id: string, exposure: Exposure, state?: ExposedState): void
  /** Of an exposure also whether it is available. */
  clear(kind: ValueKind, id: string): void
  clearAll(): void
  has(topic: string): boolean
}

type TopicKind = ValueKind | 'availability'

interface ValueTopic {
  topic: string
  send: Sender
  /** Of an availability. */
  last?: Uint8Array
}

const nobodyKnows = new TextEncoder().encode('null')
const online = new TextEncoder().encode('online')
const offline = new TextEncoder().encode('offline')
const nothing = new Uint8Array()
const retained = { qos: 0, retain: true } as const

const availabilityIn = ({ available }: ExposedState): Uint8Array => (available === false ? offline : online)

export function createValueTopics(
  plugin: string,
  { bus, topics }: { bus: Pick<Bus, 'prepare' | 'connected'>; topics: Topics },
): ValueTopics {
  const topicsOf: Record<TopicKind, Map<string, ValueTopic>> = {
    object: new Map(),
    sensor: new Map(),
    control: new Map(),
    exposed: new Map(),
    availability: new Map(),
  }
  const names = new Set<string>()

  // Not among the others' topics, which every worker has a copy of.
  const topicOf = (kind: TopicKind, id: string): string =>
    kind === 'availability' ? `${topics.exposed(plugin, id)}/availability` : topics[kind](plugin, id)

  function add(kind: TopicKind, id: string): ValueTopic {
    const topic = topicOf(kind, id)
    const added: ValueTopic = { topic, send: bus.prepare(topic) }
    topicsOf[kind].set(id, added)
    names.add(topic)
    return added
  }

  function clear(kind: TopicKind, id: string): void {
    if (kind === 'exposed') clear('availability', id)
    const present = topicsOf[kind].get(id)
    if (present === undefined) return
    topicsOf[kind].delete(id)
    names.delete(present.topic)
    present.send(nothing, retained)
  }

  function say({ send }: ValueTopic, value: Uint8Array): void {
    if (bus.connected) send(value, retained)
  }

  function sayAvailability(id: string, next: Uint8Array, isAgain: boolean): void {
    const present = topicsOf.availability.get(id) ?? add('availability', id)
    if (present.last === next && !isAgain) return
    present.last = next
    say(present, next)
  }

  function publish(kind: ValueKind, id: string, value: Uint8Array | undefined): void {
    const present = topicsOf[kind].get(id)
    if (value !== undefined) say(present ?? add(kind, id), value)
    else if (present !== undefined) say(present, nobodyKnows)
  }

  return {
    publish,
    publishExposed(id, exposure, state) {
      publish('exposed', id, state.bytes)
      if (exposure.tellsAvailability === true) sayAvailability(id, availabilityIn(exposedState(state)), false)
    },
    publishAvailability(id, { tellsAvailability }, state) {
      if (state !== undefined) sayAvailability(id, availabilityIn(state), true)
      else if (tellsAvailability !== true) sayAvailability(id, online, false)
    },
    clear,
    clearAll() {
      for (const kind of Object.keys(topicsOf) as TopicKind[])
        for (const id of [...topicsOf[kind].keys()]) clear(kind, id)
    },
    has: (topic) => names.has(topic),
  }
}
