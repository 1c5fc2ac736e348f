import { getOrInsert } from '../../../../base/get-or-insert.ts'
import { lazily } from '../../../../base/lazily.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../base/text/json.ts'
import type { ExposedComponent } from '../../../../schema/plugin/exposure.ts'
import { featuresOf } from '../../../../schema/plugin/exposed-components.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import { callLua, type Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isFunction, optionalText } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { toFeatureValue } from './exposure-value.ts'

const memberOf = 'return function(object, name) return object[name] end'
const methodOf = 'return function(object, name, ...) return object[name](object, ...) end'

/** What reads a member of an object, and what calls a method of it, in Lua. */
interface Accessors {
  member(): LuaFunction
  method(): LuaFunction
}

export function createObjectAccess({ runtime }: PluginContext): (table: LuaTable) => ExposedObject {
  const compile = (source: string) =>
    lazily(() => {
      const [compiled] = runtime.run(toBytes(source), 'expose')
      if (!isFunction(compiled)) throw new TypeError('the helper of expose is no function')
      return compiled
    })
  const accessors: Accessors = { member: compile(memberOf), method: compile(methodOf) }
  return (table) => new ExposedObject(table, accessors)
}

/**
 * Any table that a plugin exposes, its methods found as Lua finds them: in the table or by its metatable. A class, as are
 * the others of which each exposed object has one: a plugin may expose a thousand.
 */
export class ExposedObject {
  readonly #table: LuaTable
  readonly #accessors: Accessors

  constructor(table: LuaTable, accessors: Accessors) {
    this.#table = table
    this.#accessors = accessors
  }

  *#read(name: string): Steps<LuaValue> {
    try {
      return (yield* callLua(this.#accessors.member(), this.#table, toBytes(name)))[0]
    } catch {
      // A metatable that raises for a name has no such member.
      return undefined
    }
  }

  *has(method: string): Steps<boolean> {
    return isFunction(yield* this.#read(method))
  }

  *field(name: string): Steps<string | undefined> {
    return optionalText(yield* this.#read(name))
  }

  /** Calls `object:method(…)`. Throws what Lua raises. */
  call(method: string, ...args: LuaValue[]): Steps<LuaValue[]> {
    return callLua(this.#accessors.method(), this.#table, toBytes(method), ...args)
  }
}

/** A name that no object knows: one that answers to it does not look at names. */
const unknownFeature = 'no_such_feature'

export interface FeatureReaderSettings {
  context: PluginContext
  /** Of the exposure. */
  id: string
  object: ExposedObject
  component: ExposedComponent
  writable: boolean
}

type Feature = [name: string, { readonly names: readonly string[] }]

const featuresByComponent = new Map<ExposedComponent, readonly Feature[]>()

/** The same list for all objects of a component. */
const listOf = (component: ExposedComponent): readonly Feature[] =>
  getOrInsert(featuresByComponent, component, () => Object.entries(featuresOf(component)))

/** Which feature a number is that came without a name. */
const featuresOfNumbers: Partial<Record<ExposedComponent, string>> = {
  ...{ fan: 'speed', light: 'brightness', cover: 'position', valve: 'position' },
}

/** What has been found out of one object: the name of each feature, as the object calls it. */
export class FeatureReader {
  readonly #settings: FeatureReaderSettings
  readonly #features: readonly Feature[]
  /** Of the features that were found. */
  #names: Record<string, string> | undefined
  /** Undefined until the object has answered something. */
  #looksAtNames: boolean | undefined
  #raw: JsonObject = {}

  constructor(settings: FeatureReaderSettings) {
    this.#settings = settings
    this.#features = listOf(settings.component)
    if (this.#features.length === 1) this.#looksAtNames = true
  }

  /** `failures`: what `get` has raised in the present reading. */
  *#ask(failures: Error[], ...args: LuaValue[]): Steps<Json | undefined> {
    const { context, id, object } = this.#settings
    try {
      const [value] = yield* object.call('get', ...args)
      return context.toJson(value, 'exposure', id) ?? undefined
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }

  /** Which feature a value is that came without a name. */
  #featureOf(value: Json): string {
    const { component, writable } = this.#settings
    const primary = this.#features[0]?.[0] ?? 'value'
    if (component === 'climate') return writable ? primary : 'current_temperature'
    return typeof value === 'number' ? (featuresOfNumbers[component] ?? primary) : primary
  }

  #note(feature: string, name: string): void {
    this.#names ??= {}
    this.#names[feature] = name
  }

  #ofFields(fields: JsonObject): JsonObject {
    const found: JsonObject = {}
    for (const [feature, { names: candidates }] of this.#features) {
      const name = candidates.find((candidate) => (fields[candidate] ?? null) !== null)
      if (name !== undefined) {
        this.#note(feature, name)
        found[feature] = fields[name] ?? null
      }
    }
    return found
  }

  #ofWhole(value: Json | undefined): JsonObject {
    if (value === undefined || value === null) return {}
    if (isJsonObject(value) && this.#settings.component !== 'event') {
      const found = this.#ofFields(value)
      if (Object.keys(found).length > 0) return found
    }
    return { [this.#featureOf(value)]: value }
  }

  *#ofNames(failures: Error[]): Steps<JsonObject> {
    const found: JsonObject = {}
    for (const [feature, { names: candidates }] of this.#features) {
      const known = this.#names?.[feature]
      for (const name of known === undefined ? candidates : [known]) {
        const value = yield* this.#ask(failures, toBytes(name))
        if (value === undefined) continue
        this.#note(feature, name)
        found[feature] = value
        break
      }
    }
    return found
  }

  *#gather(failures: Error[]): Steps<JsonObject> {
    if (
      this.#looksAtNames === undefined &&
      (yield* this.#ask(failures, toBytes(unknownFeature))) !== undefined
    )
      this.#looksAtNames = false
    if (this.#looksAtNames === false) return this.#ofWhole(yield* this.#ask(failures))
    const named = yield* this.#ofNames(failures)
    if (Object.keys(named).length === 0)
      return this.#names === undefined ? this.#ofWhole(yield* this.#ask(failures)) : {}
    this.#looksAtNames = true
    const [value] = Object.values(named)
    return this.#features.length === 1 && isJsonObject(value) ? this.#ofWhole(value) : named
  }

  /** Known values by feature. Throws when the object knows none and its `get` raised. */
  *read(): Steps<JsonObject> {
    const failures: Error[] = []
    this.#raw = yield* this.#gather(failures)
    const gathered = Object.entries(this.#raw)
    const failure = failures.at(-1)
    if (gathered.length === 0 && failure !== undefined) throw failure
    const state: JsonObject = {}
    for (const [feature, value] of gathered) {
      const kind = featuresOf(this.#settings.component)[feature]?.kind ?? 'any'
      const converted = toFeatureValue(kind, value)
      if (converted !== null) state[feature] = converted
    }
    return state
  }

  /** The object's own name of a feature. */
  nameOf(feature: string): string {
    return this.#names?.[feature] ?? featuresOf(this.#settings.component)[feature]?.names[0] ?? feature
  }

  /** A feature's value as the object gave it last. */
  rawOf(feature: string): Json | undefined {
    return this.#raw[feature]
  }
}
