import type { Bus, Sender } from '../bus/bus.ts'
import type { ValueKind } from '../schema/worker/message-frames.ts'
import type { Topics } from '../schema/names/topics.ts'

/** The retained topics of what one plugin shows: objects, sensors, controls, exposures. They go when it is unloaded. */
export interface ValueTopics {
  /** `value`: JSON. Undefined: nobody knows one at present, which is told where one was known before. */
  publish(kind: ValueKind, id: string, value: Uint8Array | undefined): void
  clear(kind: ValueKind, id: string): void
  clearAll(): void
  has(topic: string): boolean
}

interface ValueTopic {
  topic: string
  send: Sender
}

const nobodyKnows = new TextEncoder().encode('null')
const nothing = new Uint8Array()
const retained = { qos: 0, retain: true } as const

export function createValueTopics(
  plugin: string,
  { bus, topics }: { bus: Pick<Bus, 'prepare'>; topics: Topics },
): ValueTopics {
  const topicsOf: Record<ValueKind, Map<string, ValueTopic>> = {
    object: new Map(),
    sensor: new Map(),
    control: new Map(),
    exposed: new Map(),
  }
  const names = new Set<string>()

  function add(kind: ValueKind, id: string): ValueTopic {
    const topic = topics[kind](plugin, id)
    const added: ValueTopic = { topic, send: bus.prepare(topic) }
    topicsOf[kind].set(id, added)
    names.add(topic)
    return added
  }

  function clear(kind: ValueKind, id: string): void {
    const present = topicsOf[kind].get(id)
    if (present === undefined) return
    topicsOf[kind].delete(id)
    names.delete(present.topic)
    present.send(nothing, retained)
  }

  return {
    publish(kind, id, value) {
      const present = topicsOf[kind].get(id)
      if (value !== undefined) (present ?? add(kind, id)).send(value, retained)
      else present?.send(nobodyKnows, retained)
    },
    clear,
    clearAll() {
      for (const kind of Object.keys(topicsOf) as ValueKind[])
        for (const id of [...topicsOf[kind].keys()]) clear(kind, id)
    },
    has: (topic) => names.has(topic),
  }
}
