import { isDeepStrictEqual } from 'node:util'
import { type Json, jsonText } from '../../../base/json.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { callLua, type Steps } from '../lua/steps.ts'
import type {
  CallerAwareFunction,
  CallerAwareSteps,
  ForeignCaller,
  Makers,
} from '../peers/foreign-callers.ts'
import { type WaitingAccounts, WaitedTooLong } from '../peers/waiting-accounts.ts'
import type { PluginContext } from '../plugin-context.ts'
import { bytesOf, functionArgument, isTable, optionalText } from './arguments.ts'
import { assertMessageSize, createListeners } from './listeners.ts'

export type PointKind = 'sensor' | 'control'

/** Listeners of one sensor or control. */
const changeListenerLimit = 1_000

/** Names for what a control is all about, which its range bounds; other features have bounds of their own. */
const ownFeatures: ReadonlySet<string | undefined> = new Set([undefined, 'value', 'state'])

/** A sensor or a control. */
export interface Point {
  /** What the plugin has of it. */
  table: LuaTable
  read(): Steps<void>
  set(value: Json): Steps<void>
  /** Logs that its setter has raised this. */
  failed(error: unknown): void
  value(): Json | undefined
  close(): void
}

export interface PointSettings {
  kind: PointKind
  id: string
  getter: LuaFunction
  /** Of a control. */
  setter: LuaFunction | undefined
  /** How long each other plugin has been waited for. */
  waits: WaitingAccounts
  /** Who has made which point of this kind. */
  makers: Makers<string>
  /** Throws when a control cannot have this value. */
  assertWithinRange(value: LuaValue): void
}

export function createPoint(context: PluginContext, settings: PointSettings): Point {
  const { runtime, entry, sendFrame } = context
  const { kind, id, getter, setter, waits, makers, assertWithinRange } = settings
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
    makers.check(foreignCaller, id, true)
    if (!closed && optionalText(event) === 'OnChange') yield* tell(plain(value))
    return undefined
  })
  if (setter !== undefined) {
    // `set(feature, value)`: the setter has the value first in either case, and the feature after it.
    fieldOfSteps('set', function* (_foreignCaller, ...args) {
      const [value, ...feature] = args.length > 1 ? [args[1], args[0]] : [args[0]]
      if (ownFeatures.has(optionalText(feature[0]))) assertWithinRange(value)
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
