import { evictOldest } from '../../base/evict-oldest.ts'
import { quoted } from '../../base/text/cut-text.ts'
import type { Json } from '../../base/text/json.ts'
import { Problem } from '../../base/problem.ts'
import { requireInstalled } from '../../journal/fold/decide.ts'
import type { Point } from '../../schema/api/api.ts'
import { controlValueFor } from '../../schema/plugin/control-value.ts'
import type { Exposure } from '../../schema/plugin/exposure.ts'
import type { CommandRunner } from './command-runner.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { checkExposedControl, checkExposedValue, refuse } from './exposed-value.ts'
import type { ExposureRegistry } from '../running/exposure-registry.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { ObjectRegistry, PointKind } from '../running/object-registry.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'

/** Objects, sensors, controls and exposures of running plugins, and setting them from outside. */
export type PluginPoints = Pick<
  Lifecycle,
  'objects' | 'sensors' | 'controls' | 'controlType' | 'setControl' | 'exposures' | 'setExposed'
>

/** Remembered refusals; the oldest is forgotten for a new one. A plugin may make controls of new names without end. */
const refusedLimit = 1_000
/** Milliseconds after which the plugin's log says once more that the same sender sets the same target. */
export const senderLogInterval = 10 * 60_000
/** Senders of one target that are named within that time: some clients choose another id for each message. */
export const loggedSendersLimit = 10
/** Targets whose senders are remembered. */
const targetsLimit = 1_000

export function createPluginPoints(
  context: LifecycleContext,
  {
    get,
    requireRunning,
    registry,
    exposures,
  }: Pick<PluginQueries, 'get'> &
    Pick<CommandRunner, 'requireRunning'> & { registry: ObjectRegistry; exposures: ExposureRegistry },
): PluginPoints {
  const { clock, manifests, effects } = context
  function points(id: string, kind: PointKind): Point[] {
    get(id)
    const exports = manifests.get(id)?.exports
    const declared = new Map(
      (kind === 'sensor' ? exports?.sensors : exports?.controls)?.map((entry) => [entry.id, entry]),
    )
    const exposed = kind === 'control' ? exposures.list(id) : []
    // Of several for one control the first counts.
    const shown = new Map(exposed.toReversed().map(({ exposure }) => [exposure.control, exposure.type]))
    return [...registry.values(id, kind)].map(([point, value]) => {
      const { description, unit, range, ...more }: Partial<Point> = declared.get(point) ?? {}
      const type = more.type ?? shown.get(point)
      return {
        id: point,
        value: value?.value() ?? null,
        ...(type === undefined ? {} : { type }),
        ...(description === undefined ? {} : { description }),
        ...(unit === undefined ? {} : { unit }),
        ...(range === undefined ? {} : { range }),
      }
    })
  }

  /** How a control is exposed, if it is. */
  function exposureOf(id: string, control: string): Exposure | undefined {
    return exposures.list(id).find(({ exposure }) => exposure.control === control)?.exposure
  }

  const declarationOf = (id: string, control: string) =>
    manifests.get(id)?.exports?.controls?.find((entry) => entry.id === control)

  /** As its manifest declares the control. Throws `control_value_invalid`. */
  function declaredValue(id: string, control: string, value: Json): Json {
    const accepted = controlValueFor(declarationOf(id, control) ?? {}, value)
    return accepted.ok ? accepted.value : refuse(value, accepted.message)
  }

  /** What a value that does not fit was last meant for. */
  const refused = new Set<string>()

  /**
   * Over MQTT nobody hears why a value was refused, so the plugin's log says it: once, until a value fits. Otherwise one
   * that comes again and again would leave room for nothing else there.
   */
  function checked(id: string, target: string, check: () => Json): Json {
    const key = `${id} ${target}`
    try {
      const value = check()
      refused.delete(key)
      return value
    } catch (error) {
      const isRefusal = error instanceof Problem && error.code === 'control_value_invalid'
      if (isRefusal && !refused.has(key)) {
        refused.add(key)
        evictOldest(refused, refusedLimit)
        effects.logFor(id, 'warn', `${target} was not set: ${error.message}`)
      }
      throw error
    }
  }

  /** Senders that the log has named, by target; `since`: milliseconds of the clock that does not jump. */
  const loggedSenders = new Map<string, { since: number; from: Set<string> }>()

  /**
   * Says in the plugin's log who sets something, so why it is about to move; a sender that goes on setting it is named once in a while,
   * as nothing else would have room there. A text may be a code that opens a lock, so it is not told.
   */
  function logSender(id: string, target: string, value: Json, from = 'by another host'): void {
    const key = `${id} ${target}`
    const now = clock.monotonic()
    let logged = loggedSenders.get(key)
    if (logged === undefined || now - logged.since >= senderLogInterval) {
      logged = { since: now, from: new Set() }
      loggedSenders.delete(key)
      loggedSenders.set(key, logged)
      evictOldest(loggedSenders, targetsLimit)
    }
    if (logged.from.has(from) || logged.from.size >= loggedSendersLimit) return
    logged.from.add(from)
    const told = typeof value === 'boolean' || typeof value === 'number' ? ` to ${value}` : ''
    effects.logFor(id, 'debug', `${target} is set${told} ${from}`)
  }

  return {
    objects(id) {
      get(id)
      const objects = [...registry.values(id, 'object')]
      return Object.fromEntries(objects.map(([path, value]) => [path, value?.value() ?? null]))
    },
    sensors: (id) => points(id, 'sensor'),
    controls: (id) => points(id, 'control'),
    controlType: (id, control) => declarationOf(id, control)?.type ?? exposureOf(id, control)?.type,
    async setControl(id, control, value, from) {
      requireRunning()
      requireInstalled(snapshotOfPlugin(context, id))
      if (!registry.values(id, 'control').has(control)) {
        throw new Problem('control_unknown', `${id} has no control ${quoted(control)} now.`)
      }
      const typed = checked(id, `The control '${control}'`, () => {
        const declared = declaredValue(id, control, value)
        const shown = exposureOf(id, control)
        return shown === undefined ? declared : checkExposedControl(shown, declared)
      })
      logSender(id, `The control '${control}'`, typed, from)
      const after: Json | undefined = await effects.setControl(id, control, typed)
      return { id: control, value: after ?? null }
    },
    exposures(id) {
      get(id)
      return exposures.list(id)
    },
    async setExposed(id, exposed, feature, value, from) {
      requireRunning()
      get(id)
      const found = exposures.get(id, exposed)
      if (found === undefined) {
        throw new Problem('control_unknown', `${id} exposes nothing as ${quoted(exposed)} now.`)
      }
      const typed = checked(id, `The ${feature} of '${exposed}'`, () =>
        checkExposedValue(found.exposure, feature, value),
      )
      logSender(id, `The ${feature} of '${exposed}'`, typed, from)
      await effects.setExposed(id, exposed, feature, typed)
    },
  }
}
