import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject, jsonText } from '../../../base/json.ts'
import type { ExposedComponent, Exposure } from '../../../schema/exposure.ts'
import { exposureBytesLimit } from '../../../schema/exposure-size.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import { failureOf } from '../plugin-log.ts'
import { bytesOf, isFunction, isTable, option } from './arguments.ts'
import { createFeatureReader, type ExposedObject } from './exposed-object.ts'
import { createExposureAnnouncement } from './exposure-announcement.ts'
import { readExposureOptions, textsOf } from './exposure-options.ts'
import { exposedType } from './exposure-type.ts'
import { isBinary, toBoolean, toEvent } from './exposure-value.ts'
import { assertMessageSize } from './listeners.ts'
import type { SetOutcome } from './points.ts'

/** Percent of a fan, steps of a light, percent of a cover that is open, unless `max` says otherwise. */
const fullLevels: Partial<Record<ExposedComponent, readonly [feature: string, full: number]>> = {
  fan: ['speed', 100],
  light: ['brightness', 255],
}
const coverOpen = 100

/** One thing that a plugin exposes. */
export interface ExposedEntry {
  readonly table: LuaTable
  /** Hears from the object from now on; calls it. */
  begin(): Steps<void>
  /** Reads the object and tells what is new. */
  update(): Steps<void>
  set(feature: string, value: Json): Steps<SetOutcome>
  /** Shows it as available or not, until it is told otherwise. */
  setAvailable(available: boolean): Steps<void>
  /** Whether nobody but the clock says when it has changed. */
  readonly polled: boolean
  /** `unsubscribe`: also tell the object; it calls Lua. */
  close(how: { unsubscribe: boolean }): void
}

export interface ExposedEntrySettings {
  id: string
  table: LuaTable
  object: ExposedObject
  /** Id of the plugin's own control, if the object is one. */
  control: string | undefined
  type: string
  options: LuaValue
  /** Takes room for what describes it now; false when there is none. */
  takeRoom(description: Partial<Exposure>): boolean
}

/** Throws when there is no room for its description. */
export function* createExposedEntry(
  context: PluginContext,
  settings: ExposedEntrySettings,
): Steps<ExposedEntry> {
  const { id, table, object, control, type } = settings
  const { log, entry: lua, runtime } = context
  const settable = yield* object.has('set')
  const switchable = (yield* object.has('switchOn')) && (yield* object.has('switchOff'))
  const pressable = type === 'button' && ((yield* object.has('press')) || (yield* object.has('switchOn')))
  const writable = settable || switchable || pressable
  const resolved = exposedType(type, writable)
  const declared = context.source.controls.find((entry) => entry.id === control)
  const fixed = yield* readExposureOptions(settings, resolved, declared?.range)
  if (!settings.takeRoom({ component: resolved.component, ...fixed }))
    throw new Error(`too many exposures: what they say of themselves may take ${exposureBytesLimit} bytes`)
  const readable = (yield* object.has('get')) && resolved.component !== 'button'
  if (resolved.unknown)
    log.write('warn', `expose: '${id}' has the unknown type '${type}'; it is shown as a sensor`)
  if (!readable && !writable) log.write('warn', `expose: '${id}' has neither get nor set`)
  let component: ExposedComponent = resolved.component
  const reader = createFeatureReader(object, component, writable, context.toJson)
  const [level, full] = fullLevels[component] ?? []
  /** Undefined until a sensor's first value; then whether all of them were on or off. */
  let binary: boolean | undefined
  /** Those that it is said to have, whether or not it knows a value. */
  const said = new Set(textsOf(option(settings.options, 'features')))
  const { seenFeatures, announce, noteOption } = createExposureAnnouncement(context, {
    ...{ id, fixed, said, settable, switchable, pressable },
    takeRoom: settings.takeRoom,
  })
  /** What has been told of it. */
  let sent: Exposure | undefined
  let sentState: JsonObject | undefined
  /** Of a dimmer: the last level at which it was on, to which it comes back. */
  let litLevel: number | undefined
  /** As the object gave it, without what follows from it. */
  let own: JsonObject = {}
  /** Undefined while nobody has said so. */
  let available: boolean | undefined
  let failureLogged = false
  let closed = false
  let unsubscribe: LuaFunction | undefined
  let subscribed = false

  const isClosed = (): boolean => closed

  function* read(): Steps<JsonObject> {
    if (!readable) return {}
    try {
      const state = yield* reader.read()
      assertMessageSize(state)
      failureLogged = false
      return state
    } catch (error) {
      if (!failureLogged) log.failure(`get of '${id}'`, error)
      failureLogged = true
      return {}
    }
  }

  /** A sensor that only ever gave 0, 1 or booleans is on or off; one that gave anything else is not any more. */
  function reconsider(state: JsonObject): JsonObject {
    if (type !== 'sensor' || (component !== 'sensor' && component !== 'binary_sensor')) return state
    const value = state.value ?? null
    if (value === null) return component === 'binary_sensor' ? {} : state
    const measured = fixed.unit !== undefined || fixed.stateClass !== undefined
    binary = binary !== false && isBinary(value, measured)
    component = binary ? 'binary_sensor' : 'sensor'
    return binary ? { state: toBoolean(value) } : state
  }

  /** A dimmer knows its level; that it is on follows. */
  function complete(state: JsonObject): JsonObject {
    const value = level === undefined ? undefined : state[level]
    if (typeof value === 'number' && value > 0) litLevel = value
    const isSaid = state.state !== undefined || said.has('state')
    return typeof value === 'number' && !isSaid ? { ...state, state: value > 0 } : state
  }

  function* update(): Steps<void> {
    if (closed) return
    const fresh = yield* read()
    // It may have been set aside, and closed meanwhile.
    if (isClosed()) return
    own = reconsider(fresh)
    const state = complete(own)
    if (component === 'event') {
      sent = announce({}, component, available)
      const last = sentState
      sentState = state
      // The first reading tells what was before; an event is what happens from now on.
      if (last !== undefined && !isDeepStrictEqual(last, state)) happen(state.event ?? null)
      return
    }
    if (component === 'select') noteOption(state.value)
    sent = announce(state, component, available)
    if (component === 'button' && available === undefined) return
    const whole: JsonObject = Object.fromEntries(
      (sent?.features ?? []).map((feature) => [feature, state[feature] ?? null]),
    )
    if (available !== undefined) whole.available = available
    if (isDeepStrictEqual(whole, sentState)) return
    sentState = whole
    context.sendFrame('exposed', id, jsonText(whole))
  }

  function happen(value: Json): void {
    const event = toEvent(value)
    if (event === null) return
    noteOption(event.event_type)
    sent = announce({}, component, available)
    context.sendFrame('exposed', id, jsonText(event))
  }

  function* changed(...args: LuaValue[]): Steps<void> {
    // Before the first reading nobody has seen what it changes from.
    if (closed || sent === undefined) return
    if (component !== 'event') {
      yield* update()
      return
    }
    // With a colon or without: the value is the last one that is not the object itself.
    const value = args.findLast((argument) => !(isTable(argument) && argument.is(table)))
    happen((value === undefined ? (yield* read()).event : context.toJson(value)) ?? null)
  }

  function* subscribe(): Steps<void> {
    if (!(yield* object.has('onChange'))) return
    const listener = runtime.wrapSteps('exposed.onChange', function* (...args) {
      yield* changed(...args)
      return undefined
    })
    try {
      const [answer] = yield* object.call('onChange', listener)
      unsubscribe = isFunction(answer) ? answer : undefined
      subscribed = true
    } catch (error) {
      log.failure(`onChange of '${id}'`, error)
    }
  }

  function* write(feature: string, value: Json): Steps<void> {
    if (feature === 'press') yield* press()
    else if (feature !== 'state') yield* setFeature(feature, value)
    else if (typeof value === 'boolean' && switchable) yield* object.call(value ? 'switchOn' : 'switchOff')
    else if (level !== undefined && knowsOnly(level))
      yield* setFeature(level, value === true ? (litLevel ?? fixed.max ?? full ?? 1) : 0)
    else if (component === 'cover' || component === 'valve') yield* move(value)
    else if (component === 'siren' && isJsonObject(value)) yield* sound(value)
    else yield* setFeature(feature, value)
  }

  function* press(): Steps<void> {
    if (yield* object.has('press')) yield* object.call('press')
    else if (yield* object.has('switchOn')) yield* object.call('switchOn')
    else yield* object.call('set', bytesOf('press'), true)
  }

  /** How a siren is to sound, and then that it does. */
  function* sound({ state, ...how }: JsonObject): Steps<void> {
    for (const [feature, value] of Object.entries(how)) yield* setFeature(feature, value)
    yield* write('state', state ?? null)
  }

  /** `open`, `close` or `stop`, as far as the object knows of it. */
  function* move(value: Json): Steps<void> {
    const raw = reader.rawOf('state')
    const isPosition = knowsOnly('position')
    if (value === 'stop' && (isPosition || typeof raw === 'boolean'))
      throw new Error('this cover is open or closed; it cannot be stopped')
    if (isPosition) yield* setFeature('position', value === 'open' ? coverOpen : 0)
    else yield* setFeature('state', typeof raw === 'boolean' ? value === 'open' : value)
  }

  /** Whether the object has this feature, and no state. */
  function knowsOnly(feature: string): boolean {
    return seenFeatures.has(feature) && own.state === undefined && !said.has('state')
  }

  function* setFeature(feature: string, value: Json): Steps<void> {
    if (feature === level && typeof value === 'number' && value > 0) litLevel = value
    yield* object.call('set', bytesOf(reader.nameOf(feature)), context.fromJson(value))
  }

  return {
    table,
    begin: subscribe,
    update,
    *setAvailable(now) {
      available = now
      // Before the first reading that one tells it.
      if (sent !== undefined) yield* update()
    },
    get polled() {
      return readable && !subscribed
    },
    *set(feature, value) {
      if (!(sent?.writable.includes(feature) ?? false))
        return {
          ok: false,
          reason: 'unknown',
          message: `'${id}' has no feature '${feature}' that can be set`,
        }
      try {
        yield* write(feature, value)
      } catch (error) {
        log.failure(`set of '${id}'`, error)
        return { ok: false, reason: 'refused', message: failureOf(error).message }
      }
      if (component !== 'event') yield* update()
      return { ok: true, value: undefined }
    },
    close(how) {
      closed = true
      if (how.unsubscribe && unsubscribe !== undefined) lua.call(`unsubscribe of '${id}'`, unsubscribe)
      unsubscribe = undefined
    },
  }
}
