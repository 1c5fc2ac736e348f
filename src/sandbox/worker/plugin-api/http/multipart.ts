import lazyModules from '../../formats/lazy-modules.cts'
import type { LuaTable } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, listOf, optionalText, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { rawText } from './headers.ts'

/** Parts of one body. */
const partsLimit = 1_000

/** The option `multipart` of a request: `{ { name, value | data, filename, type } }`. Throws `Error`. */
export function readMultipart(context: PluginContext, value: LuaTable): { bytes: Uint8Array; type: string } {
  const parts = listOf(value)
  if (parts.length === 0 || parts.length > partsLimit)
    throw new Error(`multipart is a list of 1 to ${partsLimit} parts, each { name = …, value = … }`)
  const boundary = `lupine-${lazyModules.cryptography().randomUUID()}`
  const budget = context.byteBudget()
  const pieces = parts.flatMap((part, index) => {
    if (!isTable(part)) throw new Error(`part ${index + 1} must be a table, not a ${typeName(part)}`)
    const data = part.get('data') ?? part.get('value')
    if (data === undefined || isTable(data))
      throw new Error(`part ${index + 1} needs a value or data: a string`)
    const head = toBytes(`--${boundary}\r\n${headOf(part, index)}\r\n\r\n`)
    budget.spend(head.byteLength)
    return [head, rawText(context, data, budget), toBytes('\r\n')]
  })
  return {
    bytes: Uint8Array.from(Buffer.concat([...pieces, toBytes(`--${boundary}--\r\n`)])),
    type: `multipart/form-data; boundary=${boundary}`,
  }
}

function headOf(part: LuaTable, index: number): string {
  const name = optionalText(part.get('name'))
  if (name === undefined) throw new Error(`part ${index + 1} has no name`)
  const file = optionalText(part.get('filename'))
  const type = optionalText(part.get('type')) ?? (file === undefined ? undefined : 'application/octet-stream')
  if (type !== undefined && !/^[\x20-\x7e]+$/.test(type))
    throw new Error(`part ${index + 1} has no such type`)
  const disposition = `form-data; name=${quoted(name)}${file === undefined ? '' : `; filename=${quoted(file)}`}`
  return `Content-Disposition: ${disposition}${type === undefined ? '' : `\r\nContent-Type: ${type}`}`
}

/** As browsers write it (HTML, multipart/form-data encoding algorithm). */
function quoted(text: string): string {
  return `"${text.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22')}"`
}
