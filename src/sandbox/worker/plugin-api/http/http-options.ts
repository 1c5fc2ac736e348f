import { maskValue } from '../../../../base/log/redaction.ts'
import { isSecretFieldName } from '../../../../base/log/secret-names.ts'
import { isGeneratedHeader } from '../../../../schema/outside/generated-headers.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { HttpMethod, HttpRequest } from '../../../../schema/outside/outside.ts'
import {
  bodyLimits,
  headerLimit,
  isSendableBlock,
  httpMethods,
} from '../../../../schema/outside/outside-limits.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, isTruthy, optionalNumber, optionalText, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { sendableJson } from '../json-text.ts'
import { rawText, readHeaders } from './headers.ts'
import { readMultipart } from './multipart.ts'
import { readRequestAuth } from './request-auth.ts'
import { appendQuery, queryOf } from './web-helpers.ts'

/** Milliseconds for a whole request when the plugin names none. */
const defaultTimeout = 30_000
/** Milliseconds; more is no limit any more. */
const longestTimeout = 24 * 3_600_000
/** Bytes of a body that is sent. */
const sentBodyLimit = 5 * 1024 * 1024

/** When a body is read as JSON; see the plugin API. */
export type JsonMode = 'success' | 'always' | 'never'

export interface HttpOptions {
  request: HttpRequest
  parseJson: JsonMode
  /** What the debug line says; `undefined`: there is none. */
  log: { redact: boolean } | undefined
  /** Names of headers that are not sent: the host writes them. */
  ignored: string[]
}

/** The options of a request as the host takes them. Throws `Error` with what is wrong with them. */
export function readHttpOptions(context: PluginContext, options: LuaTable): HttpOptions {
  const url = readUrl(context, options)
  if (!fits(url, textLimits.url)) throw new Error(`the url has more than ${textLimits.url} bytes`)
  const content = readContent(context, options)
  if (content !== undefined && content.bytes.byteLength > sentBodyLimit) {
    throw new Error(`the body is larger than ${sentBodyLimit / 1024 / 1024} MiB`)
  }
  const { headers, ignored } = readSendableHeaders(context, options.get('headers'))
  const named = headers.some(([name]) => name.toLowerCase() === 'content-type')
  if (content?.type !== undefined && !named) headers.push(['Content-Type', content.type])
  const auth = readRequestAuth(options.get('auth'))
  const isAuthorized = headers.some(([name]) => name.toLowerCase() === 'authorization')
  if (auth.header !== undefined && !isAuthorized) headers.push(auth.header)
  const maxBody = readMaxBody(options.get('maxBody'))
  return {
    request: {
      url,
      method: readMethod(options.get('method')),
      headers,
      ...(content === undefined ? {} : { body: content.bytes }),
      timeout: readTimeout(options.get('timeout')),
      insecure: isTruthy(options.get('insecureSkipVerify')) || options.get('verifySSL') === false,
      ...(auth.digest === undefined || isAuthorized ? {} : { digest: auth.digest }),
      ...(isTruthy(options.get('saveCookies')) ? { cookies: true } : {}),
      ...(maxBody === undefined ? {} : { maxBody }),
    },
    parseJson: readJsonMode(options.get('parseJson')),
    log: readLog(options.get('log')),
    ignored,
  }
}

/** With the parameters of `query`. */
function readUrl(context: PluginContext, options: LuaTable): string {
  const url = optionalText(options.get('url'))
  if (url === undefined || url === '') throw new Error('the request has no url')
  const query = options.get('query')
  if (query === undefined) return url
  if (!isTable(query)) throw new Error(`the query must be a table, not a ${typeName(query)}`)
  return appendQuery(url, queryOf(pairsOf(context, query)))
}

function pairsOf(context: PluginContext, table: LuaTable): [Uint8Array, Uint8Array][] {
  const budget = context.byteBudget()
  return table
    .entries()
    .map(([key, value]) => [rawText(context, key, budget), rawText(context, value, budget)])
}

function readMaxBody(value: LuaValue): number | undefined {
  if (value === undefined) return undefined
  const bytes = optionalNumber(value)
  if (bytes === undefined || bytes < 0 || bytes > bodyLimits.most)
    throw new Error(`maxBody is a number of bytes up to ${bodyLimits.most}`)
  return bytes
}

function readMethod(value: LuaValue): HttpMethod {
  const name = value === undefined ? 'GET' : (optionalText(value) ?? typeName(value)).toUpperCase()
  const method = httpMethods.find((known) => known === name)
  if (method === undefined) throw new Error(`the method ${name} is not one of ${httpMethods.join(', ')}`)
  return method
}

function readTimeout(value: LuaValue): number {
  const milliseconds = optionalNumber(value)
  return milliseconds !== undefined && milliseconds > 0
    ? Math.min(milliseconds, longestTimeout)
    : defaultTimeout
}

function readJsonMode(value: LuaValue): JsonMode {
  if (value === true) return 'success'
  const mode = optionalText(value)
  return mode === 'success' || mode === 'always' ? mode : 'never'
}

function readLog(value: LuaValue): HttpOptions['log'] {
  if (value === false) return undefined
  return { redact: !isTable(value) || value.get('redact') !== false }
}

/** Those that are sent as given, and the names of those that the host writes itself. Throws `Error`. */
export function readSendableHeaders(
  context: PluginContext,
  value: LuaValue,
): { headers: [string, string][]; ignored: string[] } {
  const given = readHeaders(context, value)
  const headers = given.filter(([name, content]) => !isGeneratedHeader(name, content))
  if (headers.length >= headerLimit) throw new Error(`there are more than ${headerLimit - 1} headers`)
  if (!isSendableBlock(given))
    throw new Error(`the headers have more than ${textLimits.headerBlock} bytes together`)
  const ignored = given.filter(([name, content]) => isGeneratedHeader(name, content))
  return { headers, ignored: ignored.map(([name]) => name.toLowerCase()) }
}

interface Content {
  bytes: Uint8Array
  type?: string
}

function readContent(context: PluginContext, options: LuaTable): Content | undefined {
  const [json, form, body] = [options.get('json'), options.get('form'), options.get('body')]
  if (json !== undefined) {
    return { bytes: sendableJson(context, 'httpRequest', json), type: 'application/json' }
  }
  if (form !== undefined) {
    if (!isTable(form)) throw new Error(`the form must be a table, not a ${typeName(form)}`)
    return { bytes: toBytes(queryOf(pairsOf(context, form))), type: 'application/x-www-form-urlencoded' }
  }
  const multipart = options.get('multipart')
  if (multipart !== undefined) {
    if (!isTable(multipart)) throw new Error(`multipart must be a table, not a ${typeName(multipart)}`)
    return readMultipart(context, multipart)
  }
  if (body === undefined) return undefined
  if (typeof body === 'object' && !(body instanceof Uint8Array)) {
    throw new Error(`the body must be a string, not a ${typeName(body)}; json = … sends a table`)
  }
  return { bytes: rawText(context, body, context.byteBudget()) }
}

/** A URL for the log: values of parameters that are called like a secret are hidden. */
export function withoutSecrets(url: string): string {
  return url.replace(/([?&;])([^=&;#?]+)=([^&;#]*)/g, (whole, sign: string, name: string, value: string) =>
    isSecretFieldName(name) ? `${sign}${name}=${maskValue(value)}` : whole,
  )
}
