import { lazily } from '../../../../base/lazily.ts'
import type { ByteBudget } from '../../budgets/byte-budget.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, listOf, optionalText, typeName } from '../../lua/arguments.ts'
import { toBytes, toLatin1, toUnicode } from '../../lua/text/bytes.ts'

/** Headers of HTTP as Lua gives and gets them. */

/** Names and values, one character a byte; an array is a header that comes more than once. Throws for what is no table. */
export function readHeaders(context: PluginContext, value: LuaValue): [string, string][] {
  if (value === undefined) return []
  if (!isTable(value)) throw new Error(`the headers must be a table, not a ${typeName(value)}`)
  const headers: [string, string][] = []
  const budget = context.byteBudget()
  for (const [key, content] of value.entries()) {
    const name = optionalText(key)
    if (name === undefined || content === false) continue
    for (const item of listOf(content)) headers.push([name, toLatin1(rawText(context, item, budget))])
  }
  return headers
}

/** What a `__tostring` answers may be large, and each value may have one. */
export function rawText(context: PluginContext, value: LuaValue, budget: ByteBudget): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : toBytes(context.runtime.toText(value))
  budget.spend(bytes.byteLength)
  return bytes
}

/** Makes tables of headers whose names are in lower case, and are found in any. */
export function createHeaderTables({
  runtime,
}: PluginContext): (headers: Iterable<[name: string, value: LuaValue]>) => LuaTable {
  const anyCase = lazily(() => {
    const find = runtime.wrap('headers', (headers, name) =>
      isTable(headers) && name instanceof Uint8Array ? headers.get(toUnicode(name).toLowerCase()) : undefined,
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
