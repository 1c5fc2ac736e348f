import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject, jsonText } from '../../../../base/text/json.ts'
import type { ExposedComponent, Exposure } from '../../../../schema/plugin/exposure.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { failureOf } from '../../plugin-log.ts'
import { isFunction } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import type { ExposedObject, FeatureReader } from './exposed-object.ts'
import type { Abilities, ExposureAnnouncement } from './exposure-announcement.ts'
import type { ExposureDescription } from './exposure-options.ts'
import { isBinary, toBoolean, toEvent } from './exposure-value.ts'
import { assertMessageSize } from '../listeners.ts'
import type { SetOutcome } from '../values/points.ts'

/** Percent of a fan, steps of a light, percent of a cover that is open, unless `max` says otherwise. */
const fullLevels: Partial<Record<ExposedComponent, readonly [feature: string, full: number]>> = {
  fan: ['speed', 100],
  light: ['brightness', 255],
}
const coverOpen = 100

export interface LiveExposureSettings {
  context: PluginContext
  id: string
  table: LuaTable
  object: ExposedObject
  type: string
  component: ExposedComponent
  fixed: ExposureDescription
  readable: boolean
  abilities: Abilities
  /** Whether it is said to have a state of its own. */
  isStateSaid: boolean
  reader: FeatureReader
  announcement: ExposureAnnouncement
}

/**
 * One thing that a plugin exposes. A class, as a plugin may have a thousand: two dozen functions for each would be most of
 * what it keeps.
 */
export class LiveExposure {
  readonly #settings: LiveExposureSettings
  #component: ExposedComponent
  /** Undefined until a sensor's first value; then whether all of them were on or off. */
  #binary: boolean | undefined
  /** What has been told of it. */
  #sent: Exposure | undefined
  #sentState: JsonObject | undefined
  /** Of a dimmer: the last level at which it was on, to which it comes back. */
  #litLevel: number | undefined
  /** Whether the object itself gave a state, which does not follow from something else. */
  #hasState = false
  #available: boolean | undefined
  #failureLogged = false
  #closed = false
  #unsubscribe: LuaFunction | undefined
  #subscribed = false

  constructor(settings: LiveExposureSettings) {
    this.#settings = settings
    this.#component = settings.component
  }

  get table(): LuaTable {
    return this.#settings.table
  }

  /** Undefined while nobody has said so. */
  get available(): boolean | undefined {
    return this.#available
  }

  /** Whether nobody but the clock says when it has changed. */
  get polled(): boolean {
    return this.#settings.readable && !this.#subscribed
  }

  #isClosed(): boolean {
    return this.#closed
  }

  *#read(): Steps<JsonObject> {
    const { context, id, readable, reader } = this.#settings
    if (!readable) return {}
    try {
      const state = yield* reader.read()
      assertMessageSize(state)
      this.#failureLogged = false
      return state
    } catch (error) {
      if (!this.#failureLogged) context.log.failure(`get of '${id}'`, error)
      this.#failureLogged = true
      return {}
    }
  }

  /** A sensor that only ever gave 0, 1 or booleans is on or off; one that gave anything else is not any more. */
  #reconsider(state: JsonObject): JsonObject {
    const { type, fixed } = this.#settings
    const isSensor = this.#component === 'sensor' || this.#component === 'binary_sensor'
    if (type !== 'sensor' || !isSensor) return state
    const value = state.value ?? null
    if (value === null) return this.#component === 'binary_sensor' ? {} : state
    const measured = fixed.unit !== undefined || fixed.stateClass !== undefined
    this.#binary = this.#binary !== false && isBinary(value, measured)
    this.#component = this.#binary ? 'binary_sensor' : 'sensor'
    return this.#binary ? { state: toBoolean(value) } : state
  }

  /** A dimmer knows its level; that it is on follows. */
  #complete(state: JsonObject): JsonObject {
    const [level] = fullLevels[this.#settings.component] ?? []
    const value = level === undefined ? undefined : state[level]
    if (typeof value === 'number' && value > 0) this.#litLevel = value
    const isSaid = state.state !== undefined || this.#settings.isStateSaid
    return typeof value === 'number' && !isSaid ? { ...state, state: value > 0 } : state
  }

  /** Reads the object and tells what is new. */
  *update(): Steps<void> {
    if (this.#isClosed()) return
    const { context, id, announcement } = this.#settings
    const fresh = yield* this.#read()
    // It may have been set aside, and closed meanwhile.
    if (this.#isClosed()) return
    const own = this.#reconsider(fresh)
    this.#hasState = own.state !== undefined
    const state = this.#complete(own)
    const component = this.#component
    if (component === 'event') {
      this.#sent = announcement.announce({}, component, this.#available)
      const last = this.#sentState
      this.#sentState = state
      // The first reading tells what was before; an event is what happens from now on.
      if (last !== undefined && !isDeepStrictEqual(last, state)) this.#happen(state.event ?? null)
      return
    }
    if (component === 'select') announcement.noteOption(state.value)
    this.#sent = announcement.announce(state, component, this.#available)
    if (component === 'button' && this.#available === undefined) return
    const whole: JsonObject = Object.fromEntries(
      (this.#sent?.features ?? []).map((feature) => [feature, state[feature] ?? null]),
    )
    if (this.#available !== undefined) whole.available = this.#available
    if (isDeepStrictEqual(whole, this.#sentState)) return
    this.#sentState = whole
    context.sendFrame('exposed', id, jsonText(whole))
  }

  #happen(value: Json): void {
    const { context, id, announcement } = this.#settings
    const event = toEvent(value)
    if (event === null) return
    announcement.noteOption(event.event_type)
    this.#sent = announcement.announce({}, this.#component, this.#available)
    context.sendFrame('exposed', id, jsonText(event))
  }

  *#changed(args: readonly LuaValue[]): Steps<void> {
    // Before the first reading nobody has seen what it changes from.
    if (this.#closed || this.#sent === undefined) return
    if (this.#component !== 'event') {
      yield* this.update()
      return
    }
    // With a colon or without: the value is the last one that is not the object itself.
    const value = args.findLast((argument) => argument !== this.table)
    const event =
      value === undefined
        ? (yield* this.#read()).event
        : this.#settings.context.toJson(value, 'exposure', this.#settings.id)
    this.#happen(event ?? null)
  }

  /** Hears from the object from now on; calls it. */
  *begin(): Steps<void> {
    const { context, id, object } = this.#settings
    if (!(yield* object.has('onChange'))) return
    const changed = (args: readonly LuaValue[]): Steps<void> => this.#changed(args)
    const listener = context.runtime.wrap('exposed.onChange', function* (...args) {
      yield* changed(args)
      return undefined
    })
    try {
      const [answer] = yield* object.call('onChange', listener)
      this.#unsubscribe = isFunction(answer) ? answer : undefined
      this.#subscribed = true
    } catch (error) {
      context.log.failure(`onChange of '${id}'`, error)
    }
  }

  *#write(feature: string, value: Json): Steps<void> {
    const { object, fixed, abilities, component } = this.#settings
    const [level, full] = fullLevels[component] ?? []
    if (feature === 'press') yield* this.#press()
    else if (feature !== 'state') yield* this.#setFeature(feature, value)
    else if (typeof value === 'boolean' && abilities.switchable)
      yield* object.call(value ? 'switchOn' : 'switchOff')
    else if (level !== undefined && this.#knowsOnly(level))
      yield* this.#setFeature(level, value === true ? (this.#litLevel ?? fixed.max ?? full ?? 1) : 0)
    else if (component === 'cover' || component === 'valve') yield* this.#move(value)
    else if (component === 'siren' && isJsonObject(value)) yield* this.#sound(value)
    else yield* this.#setFeature(feature, value)
  }

  *#press(): Steps<void> {
    const { object } = this.#settings
    if (yield* object.has('press')) yield* object.call('press')
    else if (yield* object.has('switchOn')) yield* object.call('switchOn')
    else yield* object.call('set', toBytes('press'), true)
  }

  /** How a siren is to sound, and then that it does. */
  *#sound({ state, ...how }: JsonObject): Steps<void> {
    for (const [feature, value] of Object.entries(how)) yield* this.#setFeature(feature, value)
    yield* this.#write('state', state ?? null)
  }

  /** `open`, `close` or `stop`, as far as the object knows of it. */
  *#move(value: Json): Steps<void> {
    const raw = this.#settings.reader.rawOf('state')
    const isPosition = this.#knowsOnly('position')
    if (value === 'stop' && (isPosition || typeof raw === 'boolean'))
      throw new Error('this cover is open or closed; it cannot be stopped')
    if (isPosition) yield* this.#setFeature('position', value === 'open' ? coverOpen : 0)
    else yield* this.#setFeature('state', typeof raw === 'boolean' ? value === 'open' : value)
  }

  /** Whether the object has this feature, and no state. */
  #knowsOnly(feature: string): boolean {
    const { announcement, isStateSaid } = this.#settings
    return announcement.seenFeatures.has(feature) && !this.#hasState && !isStateSaid
  }

  *#setFeature(feature: string, value: Json): Steps<void> {
    const { context, object, reader, component } = this.#settings
    const [level] = fullLevels[component] ?? []
    if (feature === level && typeof value === 'number' && value > 0) this.#litLevel = value
    yield* object.call('set', toBytes(reader.nameOf(feature)), context.fromJson(value))
  }

  /** Shows it as available or not, until it is told otherwise. */
  *setAvailable(available: boolean): Steps<void> {
    this.#available = available
    // Before the first reading that one tells it.
    if (this.#sent !== undefined) yield* this.update()
  }

  *set(feature: string, value: Json): Steps<SetOutcome> {
    const { context, id } = this.#settings
    if (!(this.#sent?.writable.includes(feature) ?? false))
      return {
        ok: false,
        reason: 'unknown',
        message: `'${id}' has no feature '${feature}' that can be set`,
      }
    try {
      yield* this.#write(feature, value)
    } catch (error) {
      context.log.failure(`set of '${id}'`, error)
      return { ok: false, reason: 'refused', message: failureOf(error).message }
    }
    if (this.#component !== 'event') yield* this.update()
    return { ok: true, value: undefined }
  }

  /** `unsubscribe`: also tell the object; it calls Lua. */
  close({ unsubscribe }: { unsubscribe: boolean }): void {
    this.#closed = true
    if (unsubscribe && this.#unsubscribe !== undefined)
      this.#settings.context.entry.call(`unsubscribe of '${this.#settings.id}'`, this.#unsubscribe)
    this.#unsubscribe = undefined
  }
}
