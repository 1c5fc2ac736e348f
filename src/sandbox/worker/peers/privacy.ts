import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { isFunction, optionalText, textOf } from '../plugin-api/arguments.ts'

/** Fields of an instance that other plugins cannot see. */
const hiddenFields = new Set(['config', 'meta'])
/** Fields of an instance that other plugins cannot set. */
const fixedFields = new Set([
  ...hiddenFields,
  ...['id', 'shortId', 'name', 'version', 'description', 'onInit', 'onCleanup'],
])
/** Methods of the host that are a plugin's own business: its configuration, its store, its life. */
const privateMethods = [
  'new',
  'onInit',
  'onCleanup',
  'getConfig',
  'kvGet',
  'kvSet',
  'kvDelete',
  'kvHas',
  'kvList',
  'kvGetAll',
]

/** What another plugin may do with this one, besides calling the methods that it was given. */
export interface Privacy {
  isHostFunction(value: LuaValue): boolean
  /** Throws when another plugin must not write there. */
  checkWrite(target: LuaValue, key: LuaValue): void
  hides(target: LuaValue, key: LuaValue): boolean
  /** What is left out of what another plugin reads from fields; what a method returns is its author's choice. */
  withheld(value: LuaValue): boolean
}

export interface PrivacySettings {
  /** With the methods of the host, and nothing of the plugin's yet. */
  pluginClass: LuaTable
  instance(): LuaTable | undefined
  config(): LuaValue
  secrets: readonly string[]
}

export function createPrivacy({ pluginClass, instance, config, secrets }: PrivacySettings): Privacy {
  const hostFunctions = new Set(pluginClass.entries().map(([, value]) => value))
  const privateFunctions = new Set<LuaFunction>(
    privateMethods.map((name) => pluginClass.get(name)).filter(isFunction),
  )
  const secretValues = new Set(secrets.filter((secret) => secret !== ''))
  const isInstance = (value: LuaValue): boolean => value !== undefined && value === instance()

  return {
    isHostFunction: (value) => hostFunctions.has(value),
    hides: (target, key) => isInstance(target) && hiddenFields.has(optionalText(key) ?? ''),
    checkWrite(target, key) {
      const name = optionalText(key) ?? ''
      if (isInstance(target) && fixedFields.has(name))
        throw new Error(`another plugin cannot set the field '${name}'`)
    },
    withheld(value) {
      if (typeof value !== 'object') return false
      if (value instanceof Uint8Array) return secretValues.size > 0 && secretValues.has(textOf(value))
      return value === config() || (isFunction(value) && privateFunctions.has(value))
    },
  }
}
