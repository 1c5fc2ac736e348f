import type { Json } from '../base/text/json.ts'
import { serializeJson } from '../base/text/serialized-json.ts'
import type { Bus } from '../bus/bus.ts'
import { createPublishPacer, type PublishPacer } from '../bus/publish-pacer.ts'
import type { ExposureView, Lifecycle } from '../lifecycle/lifecycle.ts'
import type { ValueKind } from '../schema/worker/message-frames.ts'
import type { Responsibility } from './responsibility.ts'
import type { ValueTopics } from './value-topics.ts'

export interface BrokerReconcilerSettings {
  lifecycle: Lifecycle
  bus: Pick<Bus, 'congested' | 'connected'>
  responsibility: Responsibility
  publishSafeMode(): void
  /** Publishes the state of a plugin. */
  showState(plugin: string): unknown
  valuesOf(plugin: string): ValueTopics
  /** What is retained of plugins that this host does not show goes; not before all that it shows was said. */
  clearStale(): Promise<void>
  /** Nothing is to be published any more. */
  closed(): boolean
}

/**
 * Brings what the broker has retained of plugins in line with how things are, as fast as the broker takes it. Ends early without
 * a connection, which the next one makes up for, or when it is begun anew.
 */
export function createBrokerReconciler(settings: BrokerReconcilerSettings): () => Promise<void> {
  const { lifecycle, bus, responsibility, publishSafeMode, showState, valuesOf, clearStale, closed } =
    settings
  let begun = 0

  const isShown = (plugin: string): boolean =>
    lifecycle.status(plugin) !== undefined && responsibility.isResponsibleFor(plugin)

  /** After each pause what is left is asked for anew: it may have changed. Resolves with false when nobody would get more. */
  async function publishEach<T extends { readonly id: string }>(
    plugin: string,
    pacer: PublishPacer,
    list: () => readonly T[],
    publish: (each: T) => number,
  ): Promise<boolean> {
    const said = new Set<string>()
    const rest = (): readonly T[] => (isShown(plugin) ? list().filter(({ id }) => !said.has(id)) : [])
    for (let left = rest(); left.length > 0; left = rest()) {
      for (const each of left) {
        said.add(each.id)
        if (!pacer.sent(publish(each))) continue
        if (!(await pacer.pause())) return false
        break
      }
    }
    return true
  }

  async function publishValues(plugin: string, pacer: PublishPacer): Promise<boolean> {
    const publishValue = (kind: ValueKind, id: string, value: Json): number => {
      const bytes = value === null ? undefined : serializeJson(value).bytes
      valuesOf(plugin).publish(kind, id, bytes)
      return bytes?.length ?? 0
    }
    const publishExposure = ({ id, exposure, state }: ExposureView): number => {
      // An event that is exposed has no state.
      const bytes = Object.keys(state).length > 0 ? publishValue('exposed', id, state) : 0
      if (exposure.component !== 'event') valuesOf(plugin).publishAvailability(id, exposure, state)
      return bytes
    }
    const publishKind = (
      kind: ValueKind,
      list: () => readonly { readonly id: string; readonly value: Json }[],
    ): Promise<boolean> => publishEach(plugin, pacer, list, ({ id, value }) => publishValue(kind, id, value))

    return (
      (await publishKind('object', () =>
        Object.entries(lifecycle.objects(plugin)).map(([id, value]) => ({ id, value })),
      )) &&
      (await publishKind('sensor', () => lifecycle.sensors(plugin))) &&
      (await publishKind('control', () => lifecycle.controls(plugin))) &&
      (await publishEach(plugin, pacer, () => lifecycle.exposures(plugin), publishExposure))
    )
  }

  async function publishAll(pacer: PublishPacer): Promise<boolean> {
    publishSafeMode()
    for (const { id } of lifecycle.list()) {
      if (!isShown(id)) continue
      showState(id)
      if (!(await publishValues(id, pacer))) return false
    }
    return true
  }

  return async () => {
    begun += 1
    const own = begun
    const pacer = createPublishPacer(bus, () => closed() || own !== begun)
    if (await publishAll(pacer)) await clearStale()
  }
}
