import type { Logger } from '../base/log/log.ts'
import { messageOf } from '../base/problem.ts'
import type { Bus, BusMessage } from '../bus/bus.ts'
import { inspectRetained } from '../bus/retained-inspection.ts'
import { createTopics } from '../schema/names/topics.ts'

/**
 * Reads once more what the broker has retained of the devices of a fleet. A host keeps what others announce only as far as there is
 * room, and has to know what stands there before it announces a plugin that was another host's.
 */
export interface ForeignDevices {
  /** Something that another host has announced was not kept. Told in the log once. */
  warnDropped(topic: string): void
  /** Begins anew when it is under way already. */
  read(): void
  /** While something is being read: calls `ready` with this plugin when that is done. Answers whether it will. */
  deferUntilRead(plugin: string): boolean
  close(): void
}

export interface ForeignDevicesSettings {
  bus: Bus
  root: string
  prefix: string
  logger: Logger
  /** Gets what is retained. */
  take(message: BusMessage): void
  ready(plugin: string): void
}

export function createForeignDevices(settings: ForeignDevicesSettings): ForeignDevices {
  const { bus, root, prefix, logger, take, ready } = settings
  const { lookEnd } = createTopics(root)
  const deferred = new Set<string>()
  let reading: AbortController | undefined
  let isTold = false
  // What is asked over a connection that is lost is not answered.
  const stopListening = bus.onReconnect(() => {
    if (reading !== undefined) read()
  })

  function read(): void {
    reading?.abort()
    const own = new AbortController()
    reading = own
    void inspectRetained(bus, {
      // Another one than what is followed all the time: for a broker the host's subscriptions with one filter are one.
      filters: [`${prefix}/device/+/config/#`],
      marker: lookEnd,
      onMessage(message) {
        if (message.retained && !own.signal.aborted) take(message)
      },
      signal: own.signal,
    })
      .catch((error: unknown) => {
        if (!own.signal.aborted)
          logger.warn('What Home Assistant was told by other hosts cannot be read', {
            reason: messageOf(error),
          })
      })
      .then(() => {
        if (reading !== own) return
        reading = undefined
        const plugins = [...deferred]
        deferred.clear()
        for (const plugin of plugins) ready(plugin)
      })
  }

  return {
    warnDropped(topic) {
      if (isTold) return
      isTold = true
      logger.warn(
        'Other hosts announce more to Home Assistant than is kept here, or somebody else does in their name: what is needed of it is read again',
        { topic },
      )
    },
    read,
    deferUntilRead(plugin) {
      if (reading === undefined) return false
      deferred.add(plugin)
      return true
    },
    close() {
      stopListening()
      const last = reading
      reading = undefined
      last?.abort()
    },
  }
}
