import { isJsonObject, type Json } from '../../../base/text/json.ts'
import { messageOf } from '../../../base/problem.ts'
import { keyValueSize } from '../../../schema/worker/operation-size.ts'
import type { KeyValue } from '../../../schema/worker/operation.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTruthy, option, optionalNumber, optionalText, textArgument } from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'

/** `kvGet`, `kvSet`, `kvDelete`, `kvHas`, `kvList`, `kvGetAll` (plugin API, section 8). */
export function installKeyValues(context: PluginContext): void {
  const { clock, redactor, source, runtime, limits } = context
  const entries = new Map<string, KeyValue>(Object.entries(source.keyValues))
  let bytes = 0
  for (const [key, entry] of entries) {
    bytes += keyValueSize(key, entry.value)
    if (entry.secure === true) hideStrings(entry.value)
  }

  function hideStrings(value: Json): void {
    if (typeof value === 'string') redactor.hide(value)
    else if (Array.isArray(value)) value.forEach(hideStrings)
    else if (isJsonObject(value)) Object.values(value).forEach(hideStrings)
  }

  function remove(key: string): boolean {
    const entry = entries.get(key)
    if (entry === undefined) return false
    entries.delete(key)
    bytes -= keyValueSize(key, entry.value)
    context.send({ kind: 'setKeyValue', key })
    return true
  }

  /** The entry of a key, unless its time has passed. */
  function find(key: string): KeyValue | undefined {
    const entry = entries.get(key)
    if (entry?.expiresAt === undefined || entry.expiresAt > clock.now()) return entry
    remove(key)
    return undefined
  }

  /** Bytes of the store with this entry in it. */
  function sizeWith(key: string, value: Json): number {
    const before = find(key)
    return bytes - (before === undefined ? 0 : keyValueSize(key, before.value)) + keyValueSize(key, value)
  }

  function set(key: string, value: Json, options: LuaValue): LuaValue | LuaValue[] {
    let size = sizeWith(key, value)
    if (size > limits.keyValueBytes) {
      // What nobody asks for any more goes when its room is wanted.
      for (const each of entries.keys()) find(each)
      size = sizeWith(key, value)
    }
    if (size > limits.keyValueBytes) {
      limits.reached('keyValueBytes')
      return [false, toBytes(`key-value store is full: ${size} of at most ${limits.keyValueBytes} bytes`)]
    }
    const seconds = optionalNumber(option(options, 'ttl')) ?? 0
    const expiresAt = clock.now() + seconds * 1000
    const secure = isTruthy(option(options, 'secure'))
    const entry: KeyValue = {
      value,
      ...(seconds !== 0 && Number.isFinite(expiresAt) ? { expiresAt } : {}),
      ...(secure ? { secure } : {}),
    }
    if (secure) hideStrings(value)
    entries.set(key, entry)
    bytes = size
    context.send({ kind: 'setKeyValue', key, entry })
    return true
  }

  const sortedKeys = (prefix: string): string[] =>
    [...entries.keys()].filter((key) => key.startsWith(prefix) && find(key) !== undefined).sort()

  context.addMethod('kvGet', (key, fallback) => {
    const entry = find(textArgument('kvGet', 1, key))
    return entry === undefined ? fallback : context.fromJson(entry.value)
  })
  context.addMethod('kvSet', (key, value, options) => {
    const name = textArgument('kvSet', 1, key)
    if (value === undefined) {
      remove(name)
      return true
    }
    try {
      return set(name, context.toStored(value), options)
    } catch (error) {
      return [false, toBytes(`the value of '${name}' cannot be stored: ${messageOf(error)}`)]
    }
  })
  context.addMethod('kvDelete', (key) => {
    const name = textArgument('kvDelete', 1, key)
    return find(name) !== undefined && remove(name)
  })
  context.addMethod('kvHas', (key) => find(textArgument('kvHas', 1, key)) !== undefined)
  context.addMethod('kvList', (prefix) => context.fromJson(sortedKeys(optionalText(prefix) ?? '')))
  context.addMethod('kvGetAll', () => {
    const all = runtime.newTable()
    for (const key of sortedKeys('')) all.set(key, context.fromJson(find(key)?.value))
    return all
  })
}
