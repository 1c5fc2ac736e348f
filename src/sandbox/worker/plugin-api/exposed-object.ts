import { lazily } from '../../../base/lazily.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import type { ExposedComponent } from '../../../schema/exposure.ts'
import { featuresOf } from '../../../schema/exposed-components.ts'
import type { LuaTable, LuaValue } from '../lua/lua-value.ts'
import { callLua, type Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import { bytesOf, isFunction, optionalText } from './arguments.ts'
import { toFeatureValue } from './exposure-value.ts'

/** Any table that a plugin exposes, its methods found as Lua finds them: in the table or by its metatable. */
export interface ExposedObject {
  has(method: string): Steps<boolean>
  field(name: string): Steps<string | undefined>
  /** Calls `object:method(…)`. Throws what Lua raises. */
  call(method: string, ...args: LuaValue[]): Steps<LuaValue[]>
}

const memberOf = 'return function(object, name) return object[name] end'
const methodOf = 'return function(object, name, ...) return object[name](object, ...) end'

export function createObjectAccess({ runtime }: PluginContext): (table: LuaTable) => ExposedObject {
  const compile = (source: string) =>
    lazily(() => {
      const [compiled] = runtime.run(bytesOf(source), 'expose')
      if (!isFunction(compiled)) throw new TypeError('the helper of expose is no function')
      return compiled
    })
  const member = compile(memberOf)
  const method = compile(methodOf)
  function* read(table: LuaTable, name: string): Steps<LuaValue> {
    try {
      return (yield* callLua(member(), table, bytesOf(name)))[0]
    } catch {
      // A metatable that raises for a name has no such member.
      return undefined
    }
  }
  return (table) => ({
    *has(name) {
      return isFunction(yield* read(table, name))
    },
    *field(name) {
      return optionalText(yield* read(table, name))
    },
    call: (name, ...args) => callLua(method(), table, bytesOf(name), ...args),
  })
}

/** A name that no object knows: one that answers to it does not look at names. */
const unknownFeature = 'no_such_feature'

/** What has been found out of one object: the name of each feature, as the object calls it. */
export interface FeatureReader {
  /** Known values by feature. Throws when the object knows none and its `get` raised. */
  read(): Steps<JsonObject>
  /** The object's own name of a feature. */
  nameOf(feature: string): string
  /** A feature's value as the object gave it last. */
  rawOf(feature: string): Json | undefined
}

export function createFeatureReader(
  object: ExposedObject,
  component: ExposedComponent,
  writable: boolean,
  toJson: (value: LuaValue) => Json | undefined,
): FeatureReader {
  const features = Object.entries(featuresOf(component))
  const primary = features[0]?.[0] ?? 'value'
  const names = new Map<string, string>()
  /** Undefined until the object has answered something. */
  let looksAtNames: boolean | undefined = features.length === 1 ? true : undefined
  let raw: JsonObject = {}
  /** What `get` raised in the present reading. */
  const failures: Error[] = []

  function* ask(...args: LuaValue[]): Steps<Json | undefined> {
    try {
      const [value] = yield* object.call('get', ...args)
      return toJson(value) ?? undefined
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }

  /** Which feature a value is that came without a name. */
  function featureOf(value: Json): string {
    if (component === 'climate') return writable ? primary : 'current_temperature'
    if (typeof value !== 'number') return primary
    return (
      { fan: 'speed', light: 'brightness', cover: 'position', valve: 'position' }[component as string] ??
      primary
    )
  }

  function ofFields(fields: JsonObject): JsonObject {
    const found: JsonObject = {}
    for (const [feature, { names: candidates }] of features) {
      const name = candidates.find((candidate) => (fields[candidate] ?? null) !== null)
      if (name !== undefined) {
        names.set(feature, name)
        found[feature] = fields[name] ?? null
      }
    }
    return found
  }

  function ofWhole(value: Json | undefined): JsonObject {
    if (value === undefined || value === null) return {}
    if (isJsonObject(value) && component !== 'event') {
      const found = ofFields(value)
      if (Object.keys(found).length > 0) return found
    }
    return { [featureOf(value)]: value }
  }

  function* ofNames(): Steps<JsonObject> {
    const found: JsonObject = {}
    for (const [feature, { names: candidates }] of features) {
      const known = names.get(feature)
      for (const name of known === undefined ? candidates : [known]) {
        const value = yield* ask(bytesOf(name))
        if (value === undefined) continue
        names.set(feature, name)
        found[feature] = value
        break
      }
    }
    return found
  }

  function* gather(): Steps<JsonObject> {
    if (looksAtNames === undefined && (yield* ask(bytesOf(unknownFeature))) !== undefined)
      looksAtNames = false
    if (looksAtNames === false) return ofWhole(yield* ask())
    const named = yield* ofNames()
    if (Object.keys(named).length === 0) return names.size === 0 ? ofWhole(yield* ask()) : {}
    looksAtNames = true
    const [value] = Object.values(named)
    return features.length === 1 && isJsonObject(value) ? ofWhole(value) : named
  }

  return {
    *read() {
      failures.length = 0
      raw = yield* gather()
      const gathered = Object.entries(raw)
      const failure = failures.at(-1)
      if (gathered.length === 0 && failure !== undefined) throw failure
      const state: JsonObject = {}
      for (const [feature, value] of gathered) {
        const kind = featuresOf(component)[feature]?.kind ?? 'any'
        const converted = toFeatureValue(kind, value)
        if (converted !== null) state[feature] = converted
      }
      return state
    },
    nameOf: (feature) => names.get(feature) ?? featuresOf(component)[feature]?.names[0] ?? feature,
    rawOf: (feature) => raw[feature],
  }
}
