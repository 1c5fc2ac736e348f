import type { ScheduledCall } from '../../../../base/time/clock.ts'
import type { Json } from '../../../../base/text/json.ts'
import { controlValueFor } from '../../../../schema/plugin/control-value.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { createCreatorRegistry } from '../../limits/creator-registry.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import { untilReading } from '../../scheduling/reading-time.ts'
import { createWaitingAccounts } from '../../peers/waiting-accounts.ts'
import { failureOf } from '../../plugin-log.ts'
import { functionArgument, optionalText, textArgument } from '../../lua/arguments.ts'
import { Point, type PointKind, type PointKindSettings } from './point.ts'

/** What a control's setter said. */
export type SetOutcome =
  { ok: true; value: Json | undefined } | { ok: false; reason: 'unknown' | 'refused'; message: string }

export interface PluginPoints {
  /** Runs the setter and answers the value afterwards. */
  setControl(id: string, value: Json): Steps<SetOutcome>
  /** The sensor or control of this id, the latest if there are both. */
  find(id: LuaValue): LuaTable | undefined
  /** The id of the control that this table is; undefined for every other table. */
  controlId(table: LuaTable): string | undefined
  /** Calls the listener with each sensor and control that the plugin removes while it runs. */
  whenRemoved(listener: (table: LuaTable) => void): void
  /** The same with each that another one of its id has replaced. */
  whenReplaced(listener: (replaced: LuaTable, table: LuaTable) => void): void
}

/** `plugin:sensor`, `plugin:control` (plugin API, section 7); `plugin:get` is in `other-plugins.ts`. */
export function installPoints(context: PluginContext): PluginPoints {
  const { entry, resources, clock, limits } = context
  const points: Record<PointKind, Map<string, Point>> = { sensor: new Map(), control: new Map() }
  /** The latest of each id, whichever kind it is. */
  const latest = new Map<string, LuaTable>()
  const waitOnAccount = createWaitingAccounts(clock.monotonic)
  const kindOf = (kind: PointKind): PointKindSettings => ({
    ...{ kind, waitOnAccount, assertWithinRange, creators: createCreatorRegistry(kind) },
  })
  const kinds = { sensor: kindOf('sensor'), control: kindOf('control') }
  const removalListeners: ((table: LuaTable) => void)[] = []
  const replacementListeners: ((replaced: LuaTable, table: LuaTable) => void)[] = []
  let initialised = context.isInitialised()
  let reading: ScheduledCall | undefined

  const count = (): number => points.sensor.size + points.control.size

  function* readAll(): Steps<void> {
    const begun = clock.monotonic()
    for (const group of [points.sensor, points.control])
      for (const point of [...group.values()]) yield* point.read()
    armReading(untilReading(clock.monotonic() - begun))
  }

  function armReading(milliseconds: number): void {
    if (!initialised || count() === 0) return
    reading ??= clock.schedule(milliseconds, () => {
      reading = undefined
      entry.start(readAll())
    })
  }

  function register(
    foreignCaller: ForeignCaller,
    kind: PointKind,
    id: LuaValue,
    getter: LuaValue,
    setter: LuaValue,
  ): LuaTable {
    const name = textArgument(kind, 1, id)
    const readLua = functionArgument(kind, 2, getter)
    const writeLua = kind === 'control' ? functionArgument(kind, 3, setter) : undefined
    const group = points[kind]
    const replaced = group.get(name)
    kinds[kind].creators.check(foreignCaller, name, replaced !== undefined)
    const limit = `${kind}s` as const
    if (replaced === undefined && !limits.hasRoom(limit, group.size, foreignCaller)) {
      throw new Error(`too many ${limit}: a plugin may have ${limits[limit]}`)
    }
    kinds[kind].creators.record(foreignCaller, name)
    replaced?.close()
    const point = new Point(context, kinds[kind], { id: name, getter: readLua, setter: writeLua })
    group.set(name, point)
    latest.set(name, point.table)
    if (replaced !== undefined)
      for (const listener of replacementListeners) listener(replaced.table, point.table)
    // The host knows of it at once; its value comes with the first reading.
    if (replaced === undefined) context.sendFrame(kind, name, '')
    if (initialised) {
      reading?.cancel()
      reading = undefined
      armReading(0)
    }
    return point.table
  }

  context.addCallerAwareMethod('sensor', (foreignCaller, id, getter) =>
    register(foreignCaller, 'sensor', id, getter, undefined),
  )
  context.addCallerAwareMethod('control', (foreignCaller, id, getter, setter) =>
    register(foreignCaller, 'control', id, getter, setter),
  )

  /** Whether there was one. */
  function remove(foreignCaller: ForeignCaller, kind: PointKind, method: string, id: LuaValue): boolean {
    const name = textArgument(method, 1, id)
    const point = points[kind].get(name)
    if (point === undefined) return false
    kinds[kind].creators.check(foreignCaller, name, true)
    kinds[kind].creators.forget(name)
    point.close()
    points[kind].delete(name)
    if (latest.get(name) === point.table) {
      const other = points.sensor.get(name) ?? points.control.get(name)
      if (other === undefined) latest.delete(name)
      else latest.set(name, other.table)
    }
    context.send({ kind: 'removeValue', of: kind, id: name })
    for (const listener of removalListeners) listener(point.table)
    return true
  }

  for (const [kind, method] of [
    ['sensor', 'removeSensor'],
    ['control', 'removeControl'],
  ] as const)
    context.addCallerAwareMethod(method, (foreignCaller, id) => remove(foreignCaller, kind, method, id))

  context.afterInit(function* () {
    initialised = true
    if (count() > 0) yield* readAll()
  })

  const release = (kind: PointKind): void => {
    reading?.cancel()
    reading = undefined
    initialised = false
    for (const [id, point] of points[kind]) {
      point.close()
      latest.delete(id)
      context.send({ kind: 'removeValue', of: kind, id })
    }
    points[kind].clear()
    kinds[kind].creators.clear()
  }
  resources.add('sensors', { count: () => points.sensor.size, release: () => release('sensor') })
  resources.add('controls', { count: () => points.control.size, release: () => release('control') })

  const declared = new Map(context.source.controls.map((control) => [control.id, control]))

  function assertWithinRange(id: string, value: LuaValue): void {
    const range = declared.get(id)?.range
    if (range === undefined) return
    const accepted = controlValueFor({ range }, context.toJson(value) ?? null)
    if (!accepted.ok) throw new Error(`the value of '${id}' ${accepted.message}, not ${accepted.shown}`)
  }
  return {
    find: (id) => latest.get(optionalText(id) ?? ''),
    controlId: (table) => [...points.control].find(([, point]) => point.table === table)?.[0],
    whenRemoved: (listener) => void removalListeners.push(listener),
    whenReplaced: (listener) => void replacementListeners.push(listener),
    *setControl(id, value) {
      const point = points.control.get(id)
      if (point === undefined)
        return { ok: false, reason: 'unknown', message: `There is no control '${id}' now.` }
      const accepted = controlValueFor(declared.get(id) ?? {}, value)
      if (!accepted.ok) {
        const message = `The value ${accepted.message}, not ${accepted.shown}.`
        return { ok: false, reason: 'refused', message }
      }
      try {
        yield* point.set(accepted.value)
      } catch (error) {
        point.failed(error)
        const message = `The plugin refused the value: ${failureOf(error).message}.`
        return { ok: false, reason: 'refused', message }
      }
      return { ok: true, value: point.value() }
    },
  }
}
