import { textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { rawText } from './headers.ts'
import { percentEncode } from '../../formats/percent-encoding.ts'
import { isTable, isTruthy, textArgument, typeName } from '../../lua/arguments.ts'
import { toBytes, toUnicode } from '../../lua/text/bytes.ts'

/** `plugin:url`, `plugin:basicAuth`, `plugin:bearerAuth` (plugin API, section 4). */
export function installWebHelpers(context: PluginContext): void {
  const raw = (value: LuaValue, budget = context.byteBudget()): Uint8Array =>
    rawText(context, value ?? new Uint8Array(), budget)

  context.addMethod('url', (base, parameters) => {
    const address = textArgument('url', 1, base, textLimits.url)
    const budget = context.byteBudget()
    const pairs = isTable(parameters) ? parameters.entries() : []
    if (isTruthy(parameters) && !isTable(parameters)) {
      const type = typeName(parameters)
      context.log.warnOnce(
        'url',
        () => `plugin:url: the parameters must be a table, not a ${type}: they are ignored`,
      )
    }
    const query = queryOf(pairs.map(([key, value]) => [raw(key, budget), raw(value, budget)]))
    return toBytes(appendQuery(address, query))
  })
  context.addMethod('basicAuth', (user, password) => {
    const secret = raw(password)
    const login = Buffer.concat([raw(user), toBytes(':'), secret]).toString('base64')
    // Headers are what plugins log first when something does not work.
    if (context.redactor.secrets.has(toUnicode(secret))) context.redactor.hide(login)
    return toBytes(`Basic ${login}`)
  })
  context.addMethod('bearerAuth', (token) => toBytes(`Bearer ${toUnicode(raw(token))}`))
}

/** Pairs as an urlencoded query: sorted bytewise by key, encoded by RFC 3986 (a blank is `%20`). */
export function queryOf(pairs: [key: Uint8Array, value: Uint8Array][]): string {
  return pairs
    .toSorted(([a], [b]) => Buffer.compare(a, b))
    .map(([key, value]) => `${percentEncode(key)}=${percentEncode(value)}`)
    .join('&')
}

export function appendQuery(address: string, query: string): string {
  if (query === '') return address
  // A fragment comes last in a URL, so what is added goes before it.
  const [base = '', ...fragment] = address.split('#')
  const separator = !base.includes('?') ? '?' : base.endsWith('?') || base.endsWith('&') ? '' : '&'
  return [`${base}${separator}${query}`, ...fragment].join('#')
}
