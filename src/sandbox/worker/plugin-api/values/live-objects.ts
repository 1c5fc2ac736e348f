import { lazily } from '../../../../base/lazily.ts'
import type { Json } from '../../../../base/text/json.ts'
import type { LuaTable, LuaValue, TableKey } from '../../lua/lua-value.ts'
import { numberText } from '../../lua/text/number-text.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, textArgument } from '../../lua/arguments.ts'
import { toBytes, toUnicode } from '../../lua/text/bytes.ts'

/** The tables that `createObject` returns: what is written to them, at every level, is written to the object. */
export interface LiveObjects {
  /** The one table of this path. */
  table(path: string, value: Json): LuaTable
  /** Brings the table of this path, if there is one, to what the object has become. */
  follow(path: string, value: Json): void
  /** The object is removed: what is written to its table is an error from now on. */
  forget(path: string): void
  clear(): void
}

interface LiveObject {
  path: string
  table: LuaTable
  removed: boolean
}

/** `store` keeps the whole object, in the name of who has written to it; false, or an error: it did not. */
export function createLiveObjects(
  { runtime, foreignCallers, toJson, fromJson }: PluginContext,
  store: (foreignCaller: ForeignCaller, path: string, value: Json) => boolean,
): LiveObjects {
  const objects = new Map<string, LiveObject>()
  /** Which object a table belongs to, by each of its tables. */
  const owners = new WeakMap<LuaTable, LiveObject>()

  /** JSON has one name for `t[1]` and `t["1"]`: whichever of them is there is meant. */
  function fieldOf(table: LuaTable, key: TableKey): TableKey {
    if (table.get(key) !== undefined) return key
    const other = typeof key === 'number' ? toBytes(numberText(key)) : asNumber(key)
    return other !== undefined && table.get(other) !== undefined ? other : key
  }

  const metatable = lazily(() => {
    const made = runtime.newTable()
    made.set('__metatable', false)
    const index = runtime.wrap('object.__index', (self, key) =>
      isTable(self) && key !== undefined ? self.get(fieldOf(self, key)) : undefined,
    )
    made.set('__index', index)
    return made
  })

  const writer = lazily(() =>
    foreignCallers.method('object.__newindex', (foreignCaller, self, key, value) => {
      const object = isTable(self) ? owners.get(self) : undefined
      if (!isTable(self) || object === undefined || key === undefined) throw new Error('not an object')
      if (object.removed) throw new Error(`the object '${object.path}' was removed`)
      textArgument('object', 1, key)
      const field = fieldOf(self, key)
      const before = self.get(field)
      self.set(field, content(object, value))
      let stored = false
      try {
        stored = store(foreignCaller, object.path, toJson(object.table) ?? {})
      } finally {
        if (!stored) self.set(field, before)
      }
    }),
  )

  /** A table of the same object stays itself, so that lists can be sorted; any other is copied. */
  function content(object: LiveObject, value: LuaValue): LuaValue {
    if (isTable(value) && owners.get(value) === object) return value
    return adopted(object, fromJson(toJson(value)))
  }

  function adopted(object: LiveObject, value: LuaValue): LuaValue {
    if (!isTable(value)) return value
    owners.set(value, object)
    value.metatable = metatable()
    value.writer = writer()
    for (const [, inner] of value.entries()) adopted(object, inner)
    return value
  }

  /** Makes `table` what `fresh` is; the tables in it stay the same where there is still one. */
  function take(object: LiveObject, table: LuaTable, fresh: LuaTable, seen: Set<LuaTable>): void {
    seen.add(table)
    for (const [key] of table.entries())
      if (key !== undefined && fresh.get(key) === undefined) table.set(key, undefined)
    for (const [key, value] of fresh.entries()) {
      if (key === undefined) continue
      const present = table.get(key)
      if (isTable(value) && isTable(present) && !seen.has(present)) take(object, present, value, seen)
      else table.set(key, adopted(object, value))
    }
  }

  const tableOf = (value: Json): LuaTable => {
    const table = fromJson(value)
    return isTable(table) ? table : runtime.newTable()
  }

  return {
    table(path, value) {
      const present = objects.get(path)
      if (present !== undefined) return present.table
      const object = { path, table: tableOf(value), removed: false }
      objects.set(path, object)
      adopted(object, object.table)
      return object.table
    },
    follow(path, value) {
      const object = objects.get(path)
      if (object !== undefined) take(object, object.table, tableOf(value), new Set())
    },
    forget(path) {
      const object = objects.get(path)
      if (object !== undefined) object.removed = true
      objects.delete(path)
    },
    clear: () => objects.clear(),
  }
}

/** The number that a key writes as `tostring` would; undefined for every other key. */
function asNumber(key: TableKey): number | undefined {
  if (!(key instanceof Uint8Array)) return undefined
  const text = toUnicode(key)
  const number = Number(text)
  return numberText(number) === text ? number : undefined
}
