import { lazily } from '../../../../base/lazily.ts'
import type { ByteBudget } from '../../budgets/byte-budget.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { bytesOf, isTable, optionalText, textOf, typeName } from '../../lua/arguments.ts'

/** Headers of HTTP as Lua gives and gets them. */

/** Names and values; an array is a header that comes more than once. Throws for what is no table. */
export function readHeaders(context: PluginContext, value: LuaValue): [string, string][] {
  if (value === undefined) return []
  if (!isTable(value)) throw new Error(`the headers must be a table, not a ${typeName(value)}`)
  const headers: [string, string][] = []
  const budget = context.byteBudget()
  for (const [key, content] of value.entries()) {
    const name = optionalText(key)
    if (name === undefined || content === false) continue
    const values = isTable(content) ? itemsOf(content) : [content]
    for (const item of values) headers.push([name, latin1(rawText(context, item, budget))])
  }
  return headers
}

/** Of an array in its order. */
function itemsOf(table: LuaTable): LuaValue[] {
  return Array.from({ length: table.length }, (_, index) => table.get(index + 1))
}

/** What a `__tostring` answers may be large, and each value may have one. */
export function rawText(context: PluginContext, value: LuaValue, budget: ByteBudget): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : bytesOf(context.runtime.toText(value))
  budget.spend(bytes.byteLength)
  return bytes
}

/** The bytes as the characters of the same numbers, as headers go over the wire. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

/** Makes tables of headers whose names are in lower case, and are found in any. */
export function createHeaderTables({
  runtime,
}: PluginContext): (headers: Iterable<[name: string, value: LuaValue]>) => LuaTable {
  const anyCase = lazily(() => {
    const find = runtime.wrap('headers', (headers, name) =>
      isTable(headers) && name instanceof Uint8Array ? headers.get(textOf(name).toLowerCase()) : undefined,
    )
    const metatable = runtime.newTable()
    metatable.set('__index', find)
    return metatable
  })
  return (headers) => {
    const table = runtime.newTable()
    for (const [name, value] of headers) table.set(name, value)
    table.metatable = anyCase()
    return table
  }
}
