import type { HookRequest } from '../../../../schema/outside/hook.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { fromLatin1, toBytes, toLatin1, toUnicode } from '../../lua/text/bytes.ts'
import { percentDecoded } from '../../formats/percent-encoding.ts'
import { createHeaderTables } from './headers.ts'
import { mostJsonValues, parseJsonText } from '../json-text.ts'

/** Names that a form may have; with more it is nobody's form. */
const formNamesLimit = 10_000

/** Makes the tables in which handlers get requests from outside. */
export function createHandlerRequests(
  context: PluginContext,
): (hook: HookRequest, path: string) => Steps<LuaTable> {
  const { runtime } = context
  const headerTable = createHeaderTables(context)

  function pairsTable(text: Uint8Array): LuaTable | undefined {
    const pairs = decodePairs(text)
    if (pairs.size > formNamesLimit) return undefined
    const table = runtime.newTable()
    for (const [name, value] of pairs) table.set(fromLatin1(name), value)
    return table
  }

  function* jsonOf(body: Uint8Array): Steps<LuaValue> {
    if (body.byteLength === 0) return undefined
    try {
      return yield* context.fromJsonInSteps(parseJsonText(toUnicode(body), mostJsonValues))
    } catch {
      return undefined
    }
  }

  return function* ({ method, query, headers, body, remote }, path) {
    const type = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
    const table = runtime.newTable()
    table.set('method', toBytes(method))
    table.set('path', toBytes(path))
    table.set('query', pairsTable(toBytes(query)) ?? runtime.newTable())
    table.set('headers', headerTable(headers.map(([name, value]) => [name, fromLatin1(value)])))
    table.set('body', body)
    table.set('json', yield* jsonOf(body))
    if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) table.set('form', pairsTable(body))
    table.set('remote', toBytes(remote))
    return table
  }
}

const ampersand = 0x26
const equals = 0x3d

/** Urlencoded names and values, byte by byte; of equal names the last one counts. Names as Latin-1. */
function decodePairs(text: Uint8Array): Map<string, Uint8Array> {
  const pairs = new Map<string, Uint8Array>()
  for (let start = 0; start < text.length;) {
    const found = text.indexOf(ampersand, start)
    const end = found === -1 ? text.length : found
    const part = text.subarray(start, end)
    start = end + 1
    if (part.length === 0) continue
    const split = part.indexOf(equals)
    const name = split === -1 ? part : part.subarray(0, split)
    const value = split === -1 ? part.subarray(0, 0) : part.subarray(split + 1)
    pairs.set(toLatin1(percentDecoded(name, true)), percentDecoded(value, true))
  }
  return pairs
}
