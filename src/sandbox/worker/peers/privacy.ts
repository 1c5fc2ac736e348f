import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { isFunction, isTable, optionalText, typeName } from '../lua/arguments.ts'
import { toLatin1, toUnicode } from '../lua/text/bytes.ts'

/** Fields of an instance that other plugins cannot see: its configuration, and what the host calls. */
const hiddenFields = new Set(['config', 'meta', 'onInit', 'onCleanup'])
/** Methods of the host that are a plugin's own business: its configuration, its store, its life, its addresses. */
const privateMethods: ReadonlySet<string> = new Set([
  'Plugin:new',
  ...[
    'onInit',
    'onCleanup',
    'getConfig',
    'kvGet',
    'kvSet',
    'kvDelete',
    'kvHas',
    'kvList',
    'kvGetAll',
    'httpHandler',
    'hookUrl',
  ].map((name) => `plugin:${name}`),
])
/** What every instance has from the host is provided under such a name, wherever the plugin has put it. */
const hostMethod = /^plugin[:.]/i

/** What another plugin may do with this one, besides calling the methods that it was given. */
export interface Privacy {
  /** Whether it is a method that every instance has from the host. */
  isHostMethod(value: LuaValue): boolean
  /**
   * What writes a field for another plugin. Fields of tables are their plugin's own; only an object of the host says
   * itself who may write to it, and a table that has the metamethod what becomes of a field that it has not got. Throws
   * when there is neither.
   */
  writerOf(target: LuaValue, key: LuaValue): LuaFunction
  hides(target: LuaValue, key: LuaValue): boolean
  /** What is left out of what another plugin reads from fields; what a method returns is its author's choice. */
  withheld(value: LuaValue): boolean
}

export interface PrivacySettings {
  providedAs: LuaRuntime['providedAs']
  instance(): LuaTable | undefined
  config(): LuaValue
  /** Of its configuration, and of stored values that are secure; it grows. */
  secrets: ReadonlySet<string>
}

export function createPrivacy({ providedAs, instance, config, secrets }: PrivacySettings): Privacy {
  const isInstance = (value: LuaValue): boolean => value !== undefined && value === instance()

  return {
    isHostMethod: (value) => isFunction(value) && hostMethod.test(providedAs(value) ?? ''),
    hides: (target, key) =>
      key instanceof Uint8Array && isInstance(target) && hiddenFields.has(toLatin1(key)),
    writerOf(target, key) {
      if (isTable(target) && target.writer !== undefined) return target.writer
      const writer = isTable(target) ? target.metatable?.get('__newindex') : undefined
      const taken = isTable(target) && key !== undefined && target.get(key) !== undefined
      if (isFunction(writer) && !taken) return writer
      const name = optionalText(key) ?? typeName(key)
      throw new Error(`another plugin cannot set the field '${name}'; call a method that does it`)
    },
    withheld(value) {
      if (typeof value !== 'object') return false
      if (value instanceof Uint8Array) return secrets.size > 0 && secrets.has(toUnicode(value))
      return value === config() || (isFunction(value) && privateMethods.has(providedAs(value) ?? ''))
    },
  }
}
