import { isDeepStrictEqual } from 'node:util'
import { type Json, jsonText } from '../../../../base/text/json.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import { callLua, type Steps } from '../../lua/steps.ts'
import type { CreatorRegistry } from '../../limits/creator-registry.ts'
import type { CallerAwareFunction, ForeignCaller } from '../../limits/foreign-callers.ts'
import { type WaitOnAccount, WaitedTooLong } from '../../peers/waiting-accounts.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { functionArgument, optionalText, withoutSelf } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { assertMessageSize, createListeners, createUnsubscribe, type Listeners } from '../listeners.ts'

export type PointKind = 'sensor' | 'control'

/** Listeners of one sensor or control. */
const changeListenerLimit = 1_000

/** Names for what a control is all about, which its range bounds; other features have bounds of their own. */
const ownFeatures: ReadonlySet<string | undefined> = new Set([undefined, 'value', 'state'])

/** What all sensors, or all controls, of a plugin have in common. */
export interface PointKindSettings {
  kind: PointKind
  /** How long each other plugin has been waited for. */
  waitOnAccount: WaitOnAccount
  /** Who has made which point of this kind. */
  creators: CreatorRegistry<string>
  /** Throws when the control of this id cannot have this value. */
  assertWithinRange(id: string, value: LuaValue): void
}

export interface PointSettings {
  id: string
  getter: LuaFunction
  /** Of a control. */
  setter: LuaFunction | undefined
}

/**
 * A sensor or a control. A class, unlike elsewhere: a plugin may have thousands, of which it only gives the getters. Two
 * dozen functions for each of them would be ten times what it keeps; for the same reason the methods are made when Lua
 * looks for one.
 */
export class Point {
  /** What the plugin has of it. */
  readonly table: LuaTable
  readonly #context: PluginContext
  readonly #kind: PointKindSettings
  readonly #settings: PointSettings
  #listeners: Listeners | undefined
  #closed = false
  #told = false
  #last: Json | undefined
  #failureLogged = false

  constructor(context: PluginContext, kind: PointKindSettings, settings: PointSettings) {
    this.#context = context
    this.#kind = kind
    this.#settings = settings
    this.table = context.runtime.newTable((table) => this.#addFields(table))
  }

  /** Waits for one of another plugin, too, as long as that has not taken too much. */
  #attempt(callee: LuaFunction, args: LuaValue[]): Steps<LuaValue[]> {
    const owner = callee.native ? this.#context.peers.ownerOf(callee) : undefined
    const call = callLua(callee, ...args)
    return owner === undefined ? call : this.#kind.waitOnAccount(owner.plugin, call)
  }

  /** Logs what the getter has done wrong, once until it works again. */
  #fail(what: 'getter' | 'value', error: unknown): void {
    const { id, getter } = this.#settings
    if (!this.#failureLogged) this.#context.entry.failed(`${what} of '${id}'`, getter, error)
    this.#failureLogged = true
  }

  /** What the getter gives; undefined when it fails. */
  *#readGetter(...args: LuaValue[]): Steps<LuaValue> {
    try {
      const [value] = yield* this.#attempt(this.#settings.getter, args)
      this.#failureLogged = false
      return value
    } catch (error) {
      // What it gave last still counts.
      if (error instanceof WaitedTooLong)
        return args[0] === undefined ? this.#context.fromJson(this.#last) : undefined
      this.#fail('getter', error)
      return undefined
    }
  }

  *#tell(value: Json | undefined): Steps<void> {
    const { fromJson, sendFrame, entry } = this.#context
    const { id } = this.#settings
    this.#told = true
    this.#last = value
    sendFrame(this.#kind.kind, id, value === undefined ? '' : jsonText(value))
    for (const callback of this.#listeners?.each('OnChange') ?? [])
      yield* entry.report(`OnChange of '${id}'`, callback, fromJson(value))
  }

  #isClosed(): boolean {
    return this.#closed
  }

  *read(): Steps<undefined> {
    if (this.#isClosed()) return
    const value = this.#plain(yield* this.#readGetter())
    // It may have been set aside, and closed meanwhile.
    if (!this.#isClosed() && (!this.#told || !isDeepStrictEqual(value, this.#last))) yield* this.#tell(value)
  }

  #plain(value: LuaValue): Json | undefined {
    try {
      const json = this.#context.toJson(value, this.#kind.kind, this.#settings.id)
      assertMessageSize(json)
      return json
    } catch (error) {
      this.#fail('value', error)
      return undefined
    }
  }

  #listen(foreignCaller: ForeignCaller, callback: LuaValue): LuaFunction {
    const run = functionArgument('onChange', 1, callback)
    this.#listeners ??= createListeners(changeListenerLimit)
    const listener = this.#listeners.add('OnChange', run, foreignCaller)
    const remove = (): void => void listener.remove()
    return createUnsubscribe(this.#context, `OnChange of '${this.#settings.id}'`, run, remove)
  }

  *#write(...args: LuaValue[]): Steps<undefined> {
    const { id, setter } = this.#settings
    if (setter === undefined) throw new Error(`'${id}' is a sensor: it cannot be set`)
    yield* this.#attempt(setter, args)
    yield* this.read()
  }

  #addFields(table: LuaTable): void {
    const { foreignCallers } = this.#context
    const { kind } = this.#kind
    const { id, setter } = this.#settings
    const field = (name: string, implementation: CallerAwareFunction): void =>
      table.set(name, foreignCallers.method(`${kind}:${name}`, implementation))
    const notify = (): Steps<undefined> => this.read()
    table.set('_id', toBytes(id))
    table.set('_type', toBytes(kind))
    field('get', (_foreignCaller, ...args) => this.#readGetter(withoutSelf(this.table, args)[0]))
    field('_notify', notify)
    field('notify', notify)
    field('onChange', (foreignCaller, ...args) =>
      this.#listen(foreignCaller, withoutSelf(this.table, args)[0]),
    )
    field('on', (foreignCaller, ...args) => {
      const [event, callback] = withoutSelf(this.table, args)
      return optionalText(event) === 'OnChange' ? this.#listen(foreignCaller, callback) : undefined
    })
    field('emit', (foreignCaller, ...args) => this.#emit(foreignCaller, withoutSelf(this.table, args)))
    if (setter !== undefined)
      field('set', (_foreignCaller, ...args) => this.#setFeature(withoutSelf(this.table, args)))
  }

  /** `set(feature, value)`: the setter has the value first in either case, and the feature after it. */
  #setFeature(args: readonly LuaValue[]): Steps<undefined> {
    const [value, ...feature] = args.length > 1 ? [args[1], args[0]] : [args[0]]
    if (ownFeatures.has(optionalText(feature[0]))) this.#kind.assertWithinRange(this.#settings.id, value)
    return this.#write(value, ...feature)
  }

  *#emit(foreignCaller: ForeignCaller, [event, value]: readonly LuaValue[]): Steps<undefined> {
    this.#kind.creators.check(foreignCaller, this.#settings.id, true)
    if (!this.#closed && optionalText(event) === 'OnChange') yield* this.#tell(this.#plain(value))
  }

  set(value: Json): Steps<undefined> {
    return this.#write(this.#context.fromJson(value))
  }

  /** Logs that its setter has raised this. */
  failed(error: unknown): void {
    const { id, getter, setter } = this.#settings
    this.#context.entry.failed(`setter of '${id}'`, setter ?? getter, error)
  }

  value(): Json | undefined {
    return this.#last
  }

  close(): void {
    this.#closed = true
    this.#listeners?.clear()
  }
}
