import { hookAnswerLimit, isHookAnswerHeader } from '../../../../schema/outside/hook-limits.ts'
import type { HookOutcome } from '../../../../schema/outside/hook.ts'
import { headerLimit, isSendableBlock } from '../../../../schema/outside/outside-limits.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { readHeaders } from './headers.ts'
import { sendableJson } from '../json-text.ts'

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

interface Content {
  bytes: Uint8Array
  type: string
}

interface AnswerParts {
  status: LuaValue
  content: Content | undefined
  headers: LuaValue
}

/**
 * Reads what a handler returns, or gives to `respond`: a status, a body and headers, or a table of these. Undefined: it
 * answers later. Throws `Error` with what is wrong.
 */
export function createHandlerAnswers(
  context: PluginContext,
): (values: readonly LuaValue[]) => HookOutcome | undefined {
  function warnOnce(what: string, reason: string): void {
    const message = `httpHandler: ${what}: ${reason}`
    context.log.warnOnce(message, () => message)
  }

  function contentOf(body: LuaValue): Content | undefined {
    if (body === undefined) return undefined
    if (isTable(body)) return jsonContent(body)
    if (typeof body === 'object' && !(body instanceof Uint8Array))
      throw new Error(`the body must be a string or a table, not a ${typeName(body)}`)
    const bytes = body instanceof Uint8Array ? body : toBytes(context.runtime.toText(body))
    return { bytes, type: 'text/plain; charset=utf-8' }
  }

  function jsonContent(value: LuaValue): Content | undefined {
    return value === undefined
      ? undefined
      : { bytes: sendableJson(context, 'httpHandler', value), type: 'application/json' }
  }

  function partsOf([first, second, third]: readonly LuaValue[]): AnswerParts {
    if (isTable(first)) {
      const content = jsonContent(first.get('json')) ?? contentOf(first.get('body'))
      const [status, headers] = [first.get('status'), first.get('headers')]
      if ((status ?? content ?? headers) === undefined && first.entries().length > 0)
        warnOnce('the answer is empty', 'its table has no status, json, body or headers')
      return { status, content, headers }
    }
    // A body alone.
    if (first instanceof Uint8Array) return { status: undefined, content: contentOf(first), headers: second }
    return { status: first, content: contentOf(second), headers: third }
  }

  function headersOf(given: LuaValue): [string, string][] {
    const all = readHeaders(context, given)
    const wrong = all.find(([name, value]) => !headerName.test(name) || !headerValue.test(value))
    if (wrong !== undefined)
      throw new Error(`the header ${JSON.stringify(wrong[0])} has characters that no header can have`)
    for (const [name] of all) {
      if (isHookAnswerHeader(name)) continue
      const reason =
        'the host writes it by itself, or a browser or a proxy would take it for a rule about the whole host'
      warnOnce(`the header ${name.toLowerCase()} is not sent`, reason)
    }
    const sent = all.filter(([name]) => isHookAnswerHeader(name))
    if (sent.length >= headerLimit || !isSendableBlock(sent))
      throw new Error('the headers are too many, or too long')
    return sent
  }

  return (values) => {
    if (values.every((value) => value === undefined)) return undefined
    const { status, content, headers } = partsOf(values)
    if (content !== undefined && content.bytes.byteLength > hookAnswerLimit)
      throw new Error(`the body is larger than ${hookAnswerLimit / 1024 / 1024} MiB`)
    const sent = headersOf(headers)
    const named = sent.some(([name]) => name.toLowerCase() === 'content-type')
    return {
      ok: true,
      status: statusOf(status, content),
      headers: content === undefined || named ? sent : [...sent, ['Content-Type', content.type]],
      // A copy of its own, which goes to the host as it is.
      ...(content === undefined ? {} : { body: Uint8Array.from(content.bytes) }),
    }
  }
}

function statusOf(status: LuaValue, content: Content | undefined): number {
  if (status === undefined) return content === undefined ? 204 : 200
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599) return status
  const shown = typeof status === 'number' ? String(status) : `a ${typeName(status)}`
  throw new Error(`the status must be a whole number from 200 to 599, not ${shown}`)
}
