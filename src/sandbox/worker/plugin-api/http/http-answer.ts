import { messageOf } from '../../../../base/problem.ts'
import { isJsonObject, type Json } from '../../../../base/text/json.ts'
import type { HttpAnswer } from '../../../../schema/outside/outside.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import { type ForeignCaller, foreignCallerJsonValues } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { fromLatin1, toBytes, toUnicode } from '../../lua/text/bytes.ts'
import { createHeaderTables } from './headers.ts'
import type { JsonMode } from './http-options.ts'
import { mostJsonValues, parseJsonText } from '../json-text.ts'

/** Characters of a server's own description in `err`. */
const descriptionLimit = 1_000
/** Statuses that have no body. */
const bodiless = new Set([204, 205, 304])

interface Verdict {
  json?: LuaValue
  err?: string
  errCode?: string
}

/** Makes the tables in which plugins get their answers: the first argument of a callback, whose `err` is the second. */
export function createAnswerTables(
  context: PluginContext,
): (answer: HttpAnswer, method: string, mode: JsonMode, foreignCaller?: ForeignCaller) => Steps<LuaTable> {
  const { runtime } = context
  const headerTable = createHeaderTables(context)

  /** `set-cookie` is an array: a date in it may have a comma. */
  function headersOf({ headers }: HttpAnswer, setCookies: readonly string[]): LuaTable {
    const single = headers.filter(([name]) => name !== 'set-cookie')
    const values = single.map(([name, value]): [string, LuaValue] => [name, fromLatin1(value)])
    return headerTable(setCookies.length === 0 ? values : [...values, ['set-cookie', arrayOf(setCookies)]])
  }

  function arrayOf(texts: readonly string[]): LuaTable {
    const array = runtime.newTable()
    for (const [index, text] of texts.entries()) array.set(index + 1, fromLatin1(text))
    return array
  }

  function cookiesOf(setCookies: readonly string[]): LuaTable {
    const cookies = runtime.newTable()
    for (const text of setCookies) {
      const [pair = ''] = text.split(';', 1)
      const equals = pair.indexOf('=')
      const name = pair.slice(0, Math.max(0, equals)).trim()
      if (name !== '') cookies.set(name, fromLatin1(pair.slice(equals + 1).trim()))
    }
    return cookies
  }

  function* parseBody(body: Uint8Array, most: number): Steps<Parsed> {
    try {
      const json = parseJsonText(toUnicode(body), most)
      return { ok: true, json, value: yield* context.fromJsonInSteps(json) }
    } catch (error) {
      return { ok: false, message: messageOf(error) }
    }
  }

  return function* (answer, method, mode, foreignCaller) {
    const most = foreignCaller === undefined ? mostJsonValues : foreignCallerJsonValues
    const { json, err, errCode } = yield* judge(answer, method, mode, (body) => parseBody(body, most))
    const table = runtime.newTable()
    table.set('status', answer.status)
    table.set('code', answer.status)
    table.set('ok', answer.error === undefined && isSuccess(answer.status))
    table.set('body', answer.body)
    const setCookies = answer.headers.filter(([name]) => name === 'set-cookie').map(([, value]) => value)
    table.set('headers', headersOf(answer, setCookies))
    table.set('cookies', cookiesOf(setCookies))
    table.set('elapsed', answer.elapsed)
    table.set('json', json)
    if (err !== undefined) table.set('err', toBytes(err))
    if (errCode !== undefined) table.set('errCode', toBytes(errCode))
    return table
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

type Parsed = { ok: true; json: Json; value: LuaValue } | { ok: false; message: string }

function* judge(
  answer: HttpAnswer,
  method: string,
  mode: JsonMode,
  parseBody: (body: Uint8Array) => Steps<Parsed>,
): Steps<Verdict> {
  const { status, body, error } = answer
  if (error !== undefined) return { err: error.message, errCode: error.code }
  if (status >= 400) {
    const parsed = yield* parseBody(body)
    const description = parsed.ok ? descriptionIn(parsed.json) : ''
    return {
      err: `HTTP ${status}${description === '' ? '' : `: ${description}`}`,
      errCode: status >= 500 ? 'http_5xx' : 'http_4xx',
      json: parsed.ok && mode !== 'never' ? parsed.value : undefined,
    }
  }
  if (mode === 'never' || (mode === 'success' && !isSuccess(status))) return {}
  if (body.byteLength === 0 && (method === 'HEAD' || bodiless.has(status))) return {}
  const parsed = yield* parseBody(body)
  if (parsed.ok) return { json: parsed.value }
  return mode === 'always' ? {} : { err: `the body is not JSON: ${parsed.message}`, errCode: 'parse' }
}

function descriptionIn(json: Json): string {
  if (!isJsonObject(json)) return ''
  const words = [json['description'], json['message'], json['error']].find(
    (value) => typeof value === 'string' && value !== '',
  )
  return typeof words === 'string' ? words.slice(0, descriptionLimit) : ''
}
