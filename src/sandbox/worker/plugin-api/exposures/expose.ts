import { trimEndOf } from '../../../../base/text/trim-end.ts'
import type { ScheduledCall } from '../../../../base/time/clock.ts'
import type { Json } from '../../../../base/text/json.ts'
import { createByteQuota, type Sizes } from '../../../../schema/worker/byte-quota.ts'
import { exposureBytesLimit, exposureSize } from '../../../../schema/worker/operation-size.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTruthy, option, optionalText, tableArgument } from '../../lua/arguments.ts'
import { isFlag, optionError } from '../option-kinds.ts'
import { untilReading } from '../../scheduling/reading-time.ts'
import { createExposedEntry } from './exposed-entry.ts'
import { createObjectAccess, type ExposedObject } from './exposed-object.ts'
import { exposureTextLimit } from './exposure-options.ts'
import type { LiveExposure } from './live-exposure.ts'
import { type PluginPoints, type SetOutcome } from '../values/points.ts'

export interface PluginExposures {
  /** Sets a feature to a value of its kind. */
  set(id: string, feature: string, value: Json): Steps<SetOutcome>
}

/** The global `expose` (plugin API, section 10). */
export function installExpose(context: PluginContext, points: PluginPoints): PluginExposures {
  const { runtime, clock, log, resources, limits, entry: lua } = context
  const access = createObjectAccess(context)
  const entries = new Map<string, LiveExposure>()
  const fresh = new Set<LiveExposure>()
  /** What the plugin has exposed each as. */
  const given = new WeakMap<LiveExposure, [type: LuaValue, options: LuaValue]>()
  /** Of the descriptions. */
  const sizes: Sizes = new Map()
  const room = createByteQuota(exposureBytesLimit)
  let initialised = context.isInitialised()
  let released = false
  let polling: ScheduledCall | undefined
  let starting: ScheduledCall | undefined

  function* poll(): Steps<void> {
    const begun = clock.monotonic()
    for (const entry of [...entries.values()]) if (entry.polled) yield* entry.update()
    schedulePoll(clock.monotonic() - begun)
  }

  function schedulePoll(spent = 0): void {
    if (released || ![...entries.values()].some((entry) => entry.polled)) return
    polling ??= clock.schedule(untilReading(spent), () => {
      polling = undefined
      lua.start(poll())
    })
  }

  function* updateFresh(): Steps<void> {
    const waiting = [...fresh]
    fresh.clear()
    for (const entry of waiting) yield* entry.update()
    schedulePoll()
  }

  /** Getters are read once the plugin has had the time to make what they need. */
  function scheduleFresh(): void {
    if (!initialised || released || fresh.size === 0) return
    starting ??= clock.schedule(0, () => {
      starting = undefined
      lua.start(updateFresh())
    })
  }

  /** `available`: what the plugin has said of the one in whose place it is. */
  function* expose(table: LuaTable, type: LuaValue, options: LuaValue, available?: boolean): Steps<void> {
    const object = access(table)
    const id = yield* identityOf(table, object, optionalText(type), options)
    const replaced = entries.get(id)
    if (replaced === undefined && !limits.hasRoom('exposures', entries.size))
      throw new Error(`too many exposures: a plugin may have ${limits.exposures}`)
    const control = points.controlId(table)
    const entry = yield* createExposedEntry(context, {
      id,
      table,
      object,
      control,
      type: typeOf(type, control),
      options,
      takeRoom: (description) => room(sizes, id, exposureSize(id, description)),
    })
    if (replaced !== undefined) {
      fresh.delete(replaced)
      replaced.close({ unsubscribe: true })
      // Later it is what a plugin does whose devices have changed.
      if (!initialised && replaced.table !== table)
        log.write('warn', `expose: the id '${id}' is another object's, which is not shown any more`)
    }
    if (available !== undefined) yield* entry.setAvailable(available)
    yield* entry.begin()
    entries.set(id, entry)
    given.set(entry, [type, options])
    yield* addSetAvailable(table, object)
    fresh.add(entry)
    scheduleFresh()
  }

  /** `object:setAvailable(…)`, and the same with a dot; one that the object has of its own stays. */
  function* addSetAvailable(table: LuaTable, object: ExposedObject): Steps<void> {
    if (yield* object.has('setAvailable')) return
    table.set(
      'setAvailable',
      runtime.wrap('setAvailable', function* (...args) {
        const available = args.find((argument) => argument !== table)
        if (!isFlag(available))
          log.warnOnce('setAvailable', () => `setAvailable: the value ${optionError('flag', available)}`)
        for (const entry of entries.values())
          if (entry.table === table) yield* entry.setAvailable(isTruthy(available))
        return table
      }),
    )
  }

  /** Takes back all exposures of this table. Whether there were any. */
  function unexpose(table: LuaTable): boolean {
    const found = [...entries].filter(([, entry]) => entry.table === table)
    for (const [id, entry] of found) {
      entries.delete(id)
      fresh.delete(entry)
      room(sizes, id, 0)
      entry.close({ unsubscribe: true })
      context.send({ kind: 'removeExposure', id })
    }
    return found.length > 0
  }

  function typeOf(type: LuaValue, control: string | undefined): string {
    const given = optionalText(type)?.slice(0, exposureTextLimit).trim().toLowerCase()
    if (given !== undefined) return given
    return context.source.controls.find(({ id }) => id === control)?.type ?? 'sensor'
  }

  function* identityOf(
    table: LuaTable,
    object: ExposedObject,
    type: string | undefined,
    options: LuaValue,
  ): Steps<string> {
    const own =
      optionalText(option(options, 'id')) ??
      ((yield* object.has('getId')) ? optionalText((yield* object.call('getId'))[0]) : undefined) ??
      (yield* object.field('_id'))
    if (own !== undefined && own !== '') return own.slice(0, exposureTextLimit)
    const slug = identifierOf(
      optionalText(option(options, 'name')) ?? (yield* object.field('name')) ?? type ?? 'sensor',
    )
    // Two lamps of one name are two.
    for (let number = 1; ; number += 1) {
      const id = number === 1 ? slug : `${slug}_${number}`
      const taken = entries.get(id)
      if (taken === undefined || taken.table === table) return id
    }
  }

  context.implement('expose', () =>
    runtime.wrap('expose', function* (object, type, options) {
      if (object === undefined) {
        log.write('warn', `expose: there is no object to expose`)
        return undefined
      }
      context.optionCheck('expose')([object, type, options])
      yield* expose(tableArgument('expose', 1, object), type, options)
      return object
    }),
  )
  context.implement('unexpose', () =>
    runtime.wrap('unexpose', (object) => unexpose(tableArgument('unexpose', 1, object))),
  )
  // Nobody could read it any more.
  points.whenRemoved(unexpose)
  // The new one is shown in the place of the old one, unless the plugin sees to that itself.
  points.whenReplaced((replaced, table) =>
    clock.schedule(0, () => {
      if (released) return
      for (const entry of [...entries.values()]) {
        const as = given.get(entry)
        if (as !== undefined && entry.table === replaced) lua.start(expose(table, ...as, entry.available))
      }
    }),
  )
  context.afterInit(function* () {
    initialised = true
    yield* updateFresh()
  })
  resources.add('exposures', {
    count: () => entries.size,
    release() {
      released = true
      polling?.cancel()
      starting?.cancel()
      fresh.clear()
      for (const [id, entry] of entries) {
        entry.close({ unsubscribe: false })
        context.send({ kind: 'removeExposure', id })
      }
      entries.clear()
    },
  })

  return {
    *set(id, feature, value) {
      const entry = entries.get(id)
      if (entry !== undefined) return yield* entry.set(feature, value)
      return { ok: false, reason: 'unknown', message: `nothing is exposed as '${id}'` }
    },
  }
}

/** A name as an id: letters and digits of any script in lower case, all else as underscores. */
function identifierOf(name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_/, '')
  const id = trimEndOf(words, '_')
  return id === '' ? 'exposed' : id.slice(0, exposureTextLimit)
}
