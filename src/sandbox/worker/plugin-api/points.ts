import { isDeepStrictEqual } from 'node:util'
import type { ScheduledCall } from '../../../base/clock.ts'
import { type Json, jsonText } from '../../../base/json.ts'
import { controlValueFor } from '../../../schema/control-value.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { createMakers, type Makers, type ForeignCaller } from '../peers/foreign-callers.ts'
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
  setControl(id: string, value: Json): SetOutcome
  /** The sensor or control of this id, the latest if there are both. */
  find(id: LuaValue): LuaTable | undefined
  /** The id of the control that this table is; undefined for every other table. */
  controlId(table: LuaTable): string | undefined
}

interface Point {
  table: LuaTable
  read(): void
  set(value: Json): void
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
  let initialised = false
  let reading: ScheduledCall | undefined

  const count = (): number => points.sensor.size + points.control.size

  function readAll(): void {
    reading = undefined
    for (const group of [points.sensor, points.control]) for (const point of [...group.values()]) point.read()
    armReading(readInterval)
  }

  function armReading(milliseconds: number): void {
    if (initialised && count() > 0) reading ??= clock.schedule(milliseconds, readAll)
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

  context.afterInit(() => {
    initialised = true
    if (count() > 0) readAll()
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
    setControl(id, value) {
      const point = points.control.get(id)
      if (point === undefined)
        return { ok: false, reason: 'unknown', message: `There is no control '${id}' now.` }
      const accepted = controlValueFor(declared.get(id) ?? {}, value)
      if (!accepted.ok) {
        const message = `The value ${accepted.message}, not ${accepted.shown}.`
        return { ok: false, reason: 'refused', message }
      }
      try {
        point.set(accepted.value)
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
    function attempt(callee: LuaFunction, args: LuaValue[]): LuaValue[] {
      const owner = callee.native ? context.peers.ownerOf(callee) : undefined
      if (owner === undefined) return entry.attempt(callee, ...args)
      return waits.run(owner.plugin, () => entry.attempt(callee, ...args))
    }

    /** What the getter gives; undefined when it fails, which is logged once until it works again. */
    function readGetter(...args: LuaValue[]): LuaValue {
      try {
        const [value] = attempt(getter, args)
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

    function tell(value: Json | undefined): void {
      told = true
      last = value
      sendFrame(kind, id, value === undefined ? '' : jsonText(value))
      listeners.each('OnChange', (callback) => {
        entry.call(`OnChange of '${id}'`, callback, context.fromJson(value))
      })
    }

    function read(): void {
      if (closed) return
      const value = plain(readGetter())
      if (!told || !isDeepStrictEqual(value, last)) tell(value)
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

    function write(...args: LuaValue[]): void {
      if (setter === undefined) throw new Error(`'${id}' is a sensor: it cannot be set`)
      attempt(setter, args)
      read()
    }

    const callerAwareField = (
      name: string,
      implementation: (foreignCaller: ForeignCaller, ...args: LuaValue[]) => unknown,
    ): void => {
      // With a colon or with a dot: `s:get()` and `s.get()` are both seen.
      const callable = context.foreignCallers.method(`${kind}:${name}`, (foreignCaller, ...args) => {
        const [first, ...others] = args
        const given = isTable(first) && first.is(table) ? others : args
        return implementation(foreignCaller, ...given) as LuaValue | undefined
      })
      table.set(name, callable)
    }
    const field = (name: string, implementation: (...args: LuaValue[]) => unknown): void =>
      callerAwareField(name, (_foreignCaller, ...args) => implementation(...args))
    table.set('_id', bytesOf(id))
    table.set('_type', bytesOf(kind))
    field('get', (feature) => readGetter(feature))
    field('_notify', read)
    field('notify', read)
    callerAwareField('onChange', listen)
    callerAwareField('on', (foreignCaller, event, callback) =>
      optionalText(event) === 'OnChange' ? listen(foreignCaller, callback) : undefined,
    )
    callerAwareField('emit', (foreignCaller, event, value) => {
      makers[kind].check(foreignCaller, id, true)
      if (!closed && optionalText(event) === 'OnChange') tell(plain(value))
    })
    if (setter !== undefined) {
      // `set(feature, value)`: the setter has the value first in either case, and the feature after it.
      field('set', (...args) => {
        const [value, ...feature] = args.length > 1 ? [args[1], args[0]] : [args[0]]
        if (ownFeatures.has(optionalText(feature[0]))) assertWithinRange(id, value)
        write(value, ...feature)
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
