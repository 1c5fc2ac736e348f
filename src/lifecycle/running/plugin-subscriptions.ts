import type { Logger } from '../../base/log/log.ts'
import type { Bus, BusMessage, BusSubscription } from '../../bus/bus.ts'
import type { LoadedPlugin } from './loaded-plugin.ts'

type Subscriptions = Pick<LoadedPlugin, 'subscriptions'>

/** What plugins have subscribed to at the broker, by the numbers that their workers gave. */
export interface PluginSubscriptions {
  /** `failed`: the broker does not take it. */
  open(
    id: string,
    plugin: Subscriptions,
    asked: { subscription: number; filter: string },
    handler: (message: BusMessage) => void,
    failed: (error: unknown) => void,
  ): void
  close(id: string, plugin: Subscriptions, subscription: number): void
  closeAll(id: string, plugin: Subscriptions): Promise<void>
}

export function createPluginSubscriptions(bus: Bus, logger: Logger): PluginSubscriptions {
  async function end(id: string, made: Promise<BusSubscription | undefined> | undefined): Promise<void> {
    try {
      await (await made)?.close()
    } catch (error) {
      logger.warn('An MQTT subscription could not be closed', { plugin: id, error })
    }
  }

  return {
    open(id, { subscriptions }, { subscription, filter }, handler, failed) {
      const made = bus.subscribe(filter, handler, { immediate: true, plugin: id }).catch((error: unknown) => {
        failed(error)
        return undefined
      })
      // A number that is in use already is not one of an honest worker; what had it would never be closed.
      void end(id, subscriptions.get(subscription))
      subscriptions.set(subscription, made)
    },
    close(id, { subscriptions }, subscription) {
      const made = subscriptions.get(subscription)
      subscriptions.delete(subscription)
      void end(id, made)
    },
    async closeAll(id, { subscriptions }) {
      const all = [...subscriptions.values()]
      subscriptions.clear()
      await Promise.all(all.map((made) => end(id, made)))
    },
  }
}
