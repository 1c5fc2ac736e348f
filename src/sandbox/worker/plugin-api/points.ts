import { isDeepStrictEqual } from 'node:util'
import type { ScheduledCall } from '../../../base/clock.ts'
import { type Json, jsonText } from '../../../base/json.ts'
import { controlValueFor } from '../../../schema/control-value.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { callLua, type Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import {
  type CallerAwareFunction,
  type CallerAwareSteps,
  createMakers,
  type ForeignCaller,
  type Makers,
} from '../peers/foreign-callers.ts'
import { createWaitingAccounts, WaitedTooLong } from '../peers/waiting-accounts.ts'
import { failureOf } from '../plugin-log.ts'
import { bytesOf, functionArgument, isTable, optionalText, textArgument } from './arguments.ts'
import { assertMessageSize, createListeners } from './listeners.ts'

type PointKind = 'sensor' | 'control'

/** Listeners of one sensor or control. */
const changeListenerLimit = 1_000
/** Milliseconds between two readings of a getter that nobody announces with `_notify`. */
export const readInterval = 1_000

/** Names for what a control is all about, which its range bounds; other features have bounds of their own. */
const ownFeatures: ReadonlySet<string | undefined> = new Set([undefined, 'value', 'state'])

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
}

interface Point {
  table: LuaTable
  read(): Steps<void>
  set(value: Json): Steps<void>
  /** Logs that its setter has raised this. */
  failed(error: unknown): void
  value(): Json | undefined
  close(): void
}

/** `plugin:sensor`, `plugin:control` (plugin API, section 7); `plugin:get` is in `other-plugins.ts`. */
export function installPoints(context: PluginContext): PluginPoints {
  const { runtime, entry, resources, clock, limits } = context
  const points: Record<PointKind, Map<string, Point>> = { sensor: new Map(), control: new Map() }
  const makers: Record<PointKind, Makers<string>> = {
    sensor: createMakers('sensor'),
    control: createMakers('control'),
  }
  /** The latest of each id, whichever kind it is. */
  const latest = new Map<string, LuaTable>()
  const waits = createWaitingAccounts(clock.monotonic)
  const removalListeners: ((table: LuaTable) => void)[] = []
  let initialised = context.isInitialised()
  let reading: ScheduledCall | undefined

  const count = (): number => points.sensor.size + points.control.size

  function* readAll(): Steps<void> {
    for (const group of [points.sensor, points.control])
      for (const point of [...group.values()]) yield* point.read()
    armReading(readInterval)
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
    makers[kind].check(foreignCaller, name, replaced !== undefined)
    const limit = `${kind}s` as const
    if (replaced === undefined && !limits.hasRoom(limit, group.size, foreignCaller)) {
      throw new Error(`too many ${limit}: a plugin may have ${limits[limit]}`)
    }
    makers[kind].made(foreignCaller, name)
    replaced?.close()
    const point = createPoint(context, kind, name, readLua, writeLua)
    group.set(name, point)
    latest.set(name, point.table)
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
    makers[kind].check(foreignCaller, name, true)
    makers[kind].forget(name)
    point.close()
    points[kind].delete(name)
    if (latest.get(name)?.is(point.table) === true) {
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
    makers[kind].clear()
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
    controlId: (table) => [...points.control].find(([, point]) => point.table.is(table))?.[0],
    whenRemoved: (listener) => void removalListeners.push(listener),
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

  function createPoint(
    { sendFrame }: PluginContext,
    kind: PointKind,
    id: string,
    getter: LuaFunction,
    setter: LuaFunction | undefined,
  ): Point {
    const listeners = createListeners(changeListenerLimit)
    const table = runtime.newTable()
    let closed = false
    let told = false
    let last: Json | undefined
    let failureLogged = false

    /** Waits for one of another plugin, too, as long as that has not taken too much. */
    function attempt(callee: LuaFunction, args: LuaValue[]): Steps<LuaValue[]> {
      const owner = callee.native ? context.peers.ownerOf(callee) : undefined
      const call = callLua(callee, ...args)
      return owner === undefined ? call : waits.run(owner.plugin, call)
    }

    /** What the getter gives; undefined when it fails, which is logged once until it works again. */
    function* readGetter(...args: LuaValue[]): Steps<LuaValue> {
      try {
        const [value] = yield* attempt(getter, args)
        failureLogged = false
        return value
      } catch (error) {
        // What it gave last still counts.
        if (error instanceof WaitedTooLong) return args[0] === undefined ? context.fromJson(last) : undefined
        if (!failureLogged) entry.failed(`getter of '${id}'`, getter, error)
        failureLogged = true
        return undefined
      }
    }

    function* tell(value: Json | undefined): Steps<void> {
      told = true
      last = value
      sendFrame(kind, id, value === undefined ? '' : jsonText(value))
      for (const callback of listeners.each('OnChange'))
        yield* entry.report(`OnChange of '${id}'`, callback, context.fromJson(value))
    }

    const isClosed = (): boolean => closed

    function* read(): Steps<void> {
      if (isClosed()) return
      const value = plain(yield* readGetter())
      // It may have been set aside, and closed meanwhile.
      if (!isClosed() && (!told || !isDeepStrictEqual(value, last))) yield* tell(value)
    }

    function plain(value: LuaValue): Json | undefined {
      try {
        const json = context.toJson(value)
        assertMessageSize(json)
        return json
      } catch (error) {
        if (!failureLogged) entry.failed(`value of '${id}'`, getter, error)
        failureLogged = true
        return undefined
      }
    }

    function listen(foreignCaller: ForeignCaller, callback: LuaValue): LuaFunction {
      const run = functionArgument('onChange', 1, callback)
      const listener = listeners.add('OnChange', run, foreignCaller)
      const remove = (): void => void listener.remove()
      const forget = context.peers.whenGone(`OnChange of '${id}'`, run, remove)
      return runtime.wrap('unsubscribe', () => {
        forget?.()
        remove()
        return undefined
      })
    }

    function* write(...args: LuaValue[]): Steps<void> {
      if (setter === undefined) throw new Error(`'${id}' is a sensor: it cannot be set`)
      yield* attempt(setter, args)
      yield* read()
    }

    /** With a colon or with a dot: `s:get()` and `s.get()` are both seen. */
    const withoutSelf = ([first, ...others]: LuaValue[]): LuaValue[] =>
      isTable(first) && first.is(table) ? others : [first, ...others]
    const field = (name: string, implementation: CallerAwareFunction): void =>
      table.set(
        name,
        context.foreignCallers.method(`${kind}:${name}`, (foreignCaller, ...args) =>
          implementation(foreignCaller, ...withoutSelf(args)),
        ),
      )
    const fieldOfSteps = (name: string, implementation: CallerAwareSteps): void =>
      table.set(
        name,
        context.foreignCallers.methodOfSteps(`${kind}:${name}`, (foreignCaller, ...args) =>
          implementation(foreignCaller, ...withoutSelf(args)),
        ),
      )
    const notify = function* (): Steps<undefined> {
      yield* read()
      return undefined
    }
    table.set('_id', bytesOf(id))
    table.set('_type', bytesOf(kind))
    fieldOfSteps('get', (_foreignCaller, feature) => readGetter(feature))
    fieldOfSteps('_notify', notify)
    fieldOfSteps('notify', notify)
    field('onChange', listen)
    field('on', (foreignCaller, event, callback) =>
      optionalText(event) === 'OnChange' ? listen(foreignCaller, callback) : undefined,
    )
    fieldOfSteps('emit', function* (foreignCaller, event, value) {
      makers[kind].check(foreignCaller, id, true)
      if (!closed && optionalText(event) === 'OnChange') yield* tell(plain(value))
      return undefined
    })
    if (setter !== undefined) {
      // `set(feature, value)`: the setter has the value first in either case, and the feature after it.
      fieldOfSteps('set', function* (_foreignCaller, ...args) {
        const [value, ...feature] = args.length > 1 ? [args[1], args[0]] : [args[0]]
        if (ownFeatures.has(optionalText(feature[0]))) assertWithinRange(id, value)
        yield* write(value, ...feature)
        return undefined
      })
    }

    return {
      table,
      read,
      set: (value) => write(context.fromJson(value)),
      failed: (error) => entry.failed(`setter of '${id}'`, setter ?? getter, error),
      value: () => last,
      close() {
        closed = true
        listeners.clear()
      },
    }
  }
}
