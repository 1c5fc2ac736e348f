import { randomBytes } from 'node:crypto'
import type { Logger } from '../base/log/log.ts'
import type { Bus, BusMessage, BusSubscription, PublishOptions } from '../bus/bus.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { Topics } from '../schema/names/topics.ts'
import type { ValueTopics } from './value-topics.ts'
import { soleHost, type Responsibility } from './responsibility.ts'

/** Topics that are cleared between two looks: far fewer than may wait for a broker. */
const batchSize = 2_000

export interface StaleTopicsSettings {
  lifecycle: Lifecycle
  bus: Pick<Bus, 'congested' | 'subscribe'>
  topics: Topics
  logger: Logger
  responsibility: Responsibility
  /** What this host has published in this run, by plugin; `state`: whether its state is retained. */
  shown: ReadonlyMap<string, { readonly state: boolean; readonly values: ValueTopics }>
  publish(topic: string, payload: string, options: PublishOptions): void
  clear(topic: string): void
  /** Nothing is to be published any more. */
  closed(): boolean
}

/** What the broker has retained of plugins and is not true any more: left by a run before, or by another host. */
export interface StaleTopics {
  /** Goes when it is found from now on; resolves when the broker has been asked. */
  clear(): Promise<void>
  /** The same; resolves when everything was looked at. */
  cleared(): Promise<void>
  /** The same for all that ask in one go together. */
  clearSoon(): void
  /** Came from another host, and has been loaded here. */
  take(plugin: string): void
  drop(plugin: string): void
  /** Ends looking. */
  close(): void
}

export function createStaleTopics(settings: StaleTopicsSettings): StaleTopics {
  const { lifecycle, bus, topics, logger, responsibility, shown, publish, clear, closed } = settings
  let stopInspection = (): void => undefined
  let inspecting: Promise<void> | undefined
  /** Those that came from other hosts, and have been loaded here. */
  const taken = new Set<string>()

  /** Whether all that this plugin shows has been published: one that was just taken over is being loaded. */
  function isSettled(plugin: string): boolean {
    return (
      responsibility === soleHost || (responsibility.owns(plugin) ? taken.has(plugin) : isAbandoned(plugin))
    )
  }

  /** It is not loaded anywhere, and this host is who says so. */
  function isAbandoned(plugin: string): boolean {
    return responsibility.isResponsibleFor(plugin) && lifecycle.status(plugin)?.state === 'unloaded'
  }

  /** A retained message below `R/plugins/` that this host, in this run, has not published: is it still true? */
  function isStale({ topic, payload, retained }: BusMessage): boolean {
    const parsed = topics.parsePlugin(topic)
    if (!retained || payload.length === 0 || parsed === undefined) return false
    const { plugin, rest } = parsed
    const isThere = lifecycle.status(plugin) !== undefined
    if (isThere ? !isSettled(plugin) : !responsibility.isCoordinator()) return false
    const known = shown.get(plugin)
    if (known?.values.has(topic) || (rest === 'state' && known?.state)) return false
    if (!isThere) return true
    // An event that a plugin wanted to be retained outlives the host.
    if (rest.startsWith('events/')) return false
    // Somebody else's; it is not carried out, but not the host's to remove either.
    return (topics.parseControlSet(topic) ?? topics.parseExposedSet(topic)) === undefined
  }

  /**
   * Looks at what the broker has retained below `R/plugins/`, and no longer: the host's own messages would all come
   * back on this subscription. A message of its own, which another host's is not taken for, comes after everything that is
   * retained, and ends a look. Another one follows until one finds nothing more: not all can be cleared at once.
   */
  async function clearStale(looked: () => void = () => undefined): Promise<void> {
    stopInspection()
    const asked = new Set<string>()
    const state = { isEnded: false }
    let subscription: BusSubscription | undefined

    function end(): void {
      if (state.isEnded) return
      state.isEnded = true
      void subscription?.close()
      looked()
    }

    async function look(): Promise<void> {
      const before = asked.size
      const mark = randomBytes(8).toString('hex')
      subscription = await bus.subscribe(
        topics.allPlugins,
        (message) => {
          const { topic, payload } = message
          if (topic === topics.lookEnd) {
            if (Buffer.from(payload).toString() !== mark) return
            void subscription?.close()
            if (asked.size === before) end()
            else void lookAgain()
          } else if (!closed() && asked.size - before < batchSize && !asked.has(topic) && isStale(message)) {
            asked.add(topic)
            clear(topic)
          }
        },
        { qos: 0 },
      )
      if (state.isEnded) return subscription.close()
      publish(topics.lookEnd, mark, { qos: 1 })
    }

    async function lookAgain(): Promise<void> {
      try {
        await bus.congested()
        if (!state.isEnded && !closed()) await look()
      } catch (error) {
        failed(error)
        end()
      }
    }

    stopInspection = end
    await look()
  }

  /** All that are taken in one go are looked at together. */
  function inspectSoon(): void {
    inspecting ??= Promise.resolve()
      .then(() => {
        inspecting = undefined
        return clearStale()
      })
      .catch(failed)
  }

  function failed(error: unknown): void {
    if (!closed()) logger.error('MQTT could not be brought up to date', { reason: error })
  }

  return {
    clear: () => clearStale(),
    cleared: () => new Promise((resolve, reject) => void clearStale(resolve).catch(reject)),
    clearSoon: inspectSoon,
    take(plugin) {
      taken.add(plugin)
      inspectSoon()
    },
    drop: (plugin) => void taken.delete(plugin),
    close: () => stopInspection(),
  }
}
