import { textLimits } from '../../../schema/parsing/text-limits.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import { bytesOf, isTable, textArgument } from './arguments.ts'

const percent = 0x25

/** `plugin:url`, `plugin:basicAuth`, `plugin:bearerAuth` (plugin API, section 4). */
export function installWebHelpers(context: PluginContext): void {
  const { runtime } = context
  const raw = (value: LuaValue, budget = context.byteBudget()): Uint8Array => {
    const bytes =
      value instanceof Uint8Array ? value : bytesOf(value === undefined ? '' : runtime.toText(value))
    budget.spend(bytes.byteLength)
    return bytes
  }

  context.addMethod('url', (base, parameters) => {
    const address = textArgument('url', 1, base, textLimits.url)
    const budget = context.byteBudget()
    const pairs = isTable(parameters) ? parameters.entries() : []
    const query = queryOf(pairs.map(([key, value]) => [raw(key, budget), raw(value, budget)]))
    return bytesOf(appendQuery(address, query))
  })
  context.addMethod('basicAuth', (user, password) =>
    bytesOf(`Basic ${Buffer.concat([raw(user), bytesOf(':'), raw(password)]).toString('base64')}`),
  )
  context.addMethod('bearerAuth', (token) => bytesOf(`Bearer ${Buffer.from(raw(token)).toString('utf8')}`))
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

/** 1 for each byte that is an unreserved character of RFC 3986. */
const unreserved = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9._~-]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
const digits = Buffer.from('0123456789ABCDEF')

/** Everything but the unreserved characters of RFC 3986, byte by byte. */
export function percentEncoded(bytes: Uint8Array): Buffer {
  let length = 0
  for (const byte of bytes) length += unreserved[byte] === 1 ? 1 : 3
  const encoded = Buffer.allocUnsafe(length)
  let at = 0
  for (const byte of bytes) {
    if (unreserved[byte] === 1) encoded[at++] = byte
    else {
      encoded[at++] = percent
      encoded[at++] = digits[byte >> 4] ?? 0
      encoded[at++] = digits[byte & 15] ?? 0
    }
  }
  return encoded
}

export const percentEncode = (bytes: Uint8Array): string => percentEncoded(bytes).toString('latin1')
