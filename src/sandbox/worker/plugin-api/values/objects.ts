import { isJsonObject, type Json, jsonText } from '../../../../base/text/json.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import { createCreatorRegistry } from '../../limits/creator-registry.ts'
import { countLimitFor, type ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, textArgument, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { closestName } from '../../../../base/text/closest-name.ts'
import { createLiveObjects } from './live-objects.ts'
import { messageSizeLimit } from '../listeners.ts'

/** Bytes of all objects of one plugin as JSON, with their paths; the host holds a copy of them. */
export const objectBytesLimit = 8 * 1024 * 1024

/** Fields that may be added to any object. */
const alwaysAllowed = new Set(['lastError', 'error', 'lastUpdate', 'updated'])

/** `upsertObject`, `updateObject`, `getObject`, `createObject` (plugin API, sections 4 and 7). */
export function installObjects(context: PluginContext): void {
  const { runtime, source, log, limits } = context
  const objects = new Map<string, Json>()
  const sizes = new Map<string, number>()
  const creators = createCreatorRegistry<string>('object')
  let bytes = 0
  const ownPrefixes = [`plugins.${source.namespace}.${source.shortId}.`, `${source.id}:`]

  function refuse(method: string, message: string): LuaValue[] {
    log.write('warn', `${method}: ${message}`, context.foreignCallers.current)
    return [false, toBytes(message)]
  }

  /** Why the object cannot be stored, or undefined when it has been. */
  function store(foreignCaller: ForeignCaller, path: string, value: Json): string | undefined {
    creators.check(foreignCaller, path, objects.has(path))
    const text = jsonText(value)
    const size = path.length + Buffer.byteLength(text)
    if (size > messageSizeLimit) return `an object may take ${messageSizeLimit} bytes at most`
    const total = bytes - (sizes.get(path) ?? 0) + size
    if (!objects.has(path) && !limits.hasRoom('objects', objects.size, foreignCaller))
      return `a plugin may have ${limits.objects} objects at most`
    if (total > countLimitFor(foreignCaller, objectBytesLimit))
      return `the objects of a plugin may take ${objectBytesLimit} bytes at most`
    creators.record(foreignCaller, path)
    objects.set(path, value)
    sizes.set(path, size)
    bytes = total
    context.sendFrame('object', path, text)
    return undefined
  }

  const live = createLiveObjects(context, (foreignCaller, path, value) => {
    const refusal = store(foreignCaller, path, value)
    if (refusal !== undefined) refuse('createObject', refusal)
    return refusal === undefined
  })

  /** The same for what does not come out of its live table, which then has it, too. */
  function replace(foreignCaller: ForeignCaller, path: string, value: Json): string | undefined {
    const refusal = store(foreignCaller, path, value)
    if (refusal === undefined) live.follow(path, value)
    return refusal
  }

  function upsert(
    foreignCaller: ForeignCaller,
    method: string,
    path: LuaValue,
    data: LuaValue,
  ): LuaValue | LuaValue[] {
    const name = textArgument(method, 1, path)
    const value = context.toJson(data, isTable(data) ? 'object' : undefined, name)
    if (value === undefined || value === null) {
      throw new Error(`bad argument #2 to '${method}' (table expected, got ${typeName(data)})`)
    }
    const refusal = replace(foreignCaller, name, value)
    return refusal === undefined ? true : refuse(method, refusal)
  }

  context.addCallerAwareMethod('upsertObject', (foreignCaller, path, data) =>
    upsert(foreignCaller, 'upsertObject', path, data),
  )

  context.addCallerAwareMethod('updateObject', (foreignCaller, path, patch) => {
    const name = textArgument('updateObject', 1, path)
    const present = objects.get(name)
    if (present === undefined) return refuse('updateObject', `object not found: ${name}`)
    const changes = isTable(patch) ? context.toJson(patch, 'object', name) : undefined
    if (changes === undefined)
      throw new Error(`bad argument #2 to 'updateObject' (table expected, got ${typeName(patch)})`)
    // An empty table has no fields, whichever kind of JSON it would be.
    const fields = isJsonObject(changes) ? changes : {}
    if (!isJsonObject(present) && !isEmptyArray(present)) {
      return refuse('updateObject', `object has no fields: ${name}`)
    }
    const known = isJsonObject(present) ? present : {}
    for (const field of Object.keys(fields)) {
      if (Object.hasOwn(known, field) || alwaysAllowed.has(field)) continue
      const near = closestName(field, Object.keys(known))
      const hint = near === undefined ? '' : ` (did you mean: '${near}'?)`
      return refuse('updateObject', `unknown field '${field}'${hint}`)
    }
    const refusal = replace(foreignCaller, name, { ...known, ...fields })
    return refusal === undefined ? true : refuse('updateObject', refusal)
  })

  context.addCallerAwareMethod('removeObject', (foreignCaller, path) => {
    const name = textArgument('removeObject', 1, path)
    if (!objects.has(name)) return false
    creators.check(foreignCaller, name, true)
    creators.forget(name)
    objects.delete(name)
    bytes -= sizes.get(name) ?? 0
    sizes.delete(name)
    live.forget(name)
    context.send({ kind: 'removeValue', of: 'object', id: name })
    return true
  })

  context.addCallerAwareMethod('getObject', function* (foreignCaller, path) {
    const name = textArgument('getObject', 1, path)
    const prefix = ownPrefixes.find((start) => name.startsWith(start))
    const own =
      objects.get(name) ?? (prefix === undefined ? undefined : objects.get(name.slice(prefix.length)))
    if (own !== undefined) return context.fromJson(own)
    if (!name.startsWith('plugins.') && !name.startsWith('@')) return undefined
    const asked = foreignCaller === undefined ? {} : { foreignCaller }
    return context.fromJson(yield* context.ask({ kind: 'lookUpObject', fullPath: name, ...asked }))
  })

  context.addCallerAwareMethod('createObject', (foreignCaller, path, data) => {
    const stored = upsert(foreignCaller, 'createObject', path, data ?? runtime.newTable())
    const name = textArgument('createObject', 1, path)
    return stored === true ? live.table(name, objects.get(name) ?? {}) : stored
  })

  context.resources.add('objects', {
    count: () => objects.size,
    release() {
      for (const id of objects.keys()) context.send({ kind: 'removeValue', of: 'object', id })
      objects.clear()
      sizes.clear()
      creators.clear()
      live.clear()
      bytes = 0
    },
  })
}

function isEmptyArray(value: Json): boolean {
  return Array.isArray(value) && value.length === 0
}
