import type { Frame } from '../../../../schema/worker/message-frames.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  type ConnectionEntry,
  type ConnectionObject,
  type ConnectionPlan,
  type ConnectionResource,
  createConnectionObject,
  type Delivery,
  nothingMore,
} from './connection-object.ts'

export interface ConnectionObjects {
  /** Connects, and makes the object. Throws when there are too many. */
  open(plan: ConnectionPlan): ConnectionObject
  /** What there is to tell of it, one at a time: a frame may be thousands of lines. */
  deliver(frame: Frame): Delivery
}

/** All connections of a plugin. */
export function createConnectionObjects(context: PluginContext): ConnectionObjects {
  const { limits, resources } = context
  const open: Record<ConnectionResource, Map<number, ConnectionEntry>> = {
    sockets: new Map(),
    serialPorts: new Map(),
    discoveries: new Map(),
  }
  let lastNumber = 0

  for (const [resource, entries] of Object.entries(open) as [
    ConnectionResource,
    Map<number, ConnectionEntry>,
  ][])
    resources.add(resource, {
      count: () => entries.size,
      release() {
        for (const each of [...entries.values()]) each.end()
      },
    })

  return {
    open(plan) {
      const { resource, foreignCaller } = plan
      if (!limits.hasRoom(resource, open[resource].size, foreignCaller))
        throw new Error(`too many ${resource}: a plugin may have ${limits[resource]} open at one time`)
      lastNumber += 1
      return createConnectionObject(context, lastNumber, plan, open[resource])
    },
    deliver(frame) {
      const { subscription } = frame
      const { sockets, serialPorts, discoveries } = open
      const entry =
        sockets.get(subscription) ?? serialPorts.get(subscription) ?? discoveries.get(subscription)
      return entry?.receive(frame) ?? nothingMore
    },
  }
}
