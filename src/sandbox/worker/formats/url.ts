import type { LuaTable, LuaValue } from '../lua/lua-value.ts'
import { pause, type Steps } from '../lua/steps.ts'
import { isTable, optionalNumber, optionalText, typeName } from '../lua/arguments.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'
import { escapedByte, percentDecoded, percentEncode, percentEncoded } from './percent-encoding.ts'
import { bytesArgument, eachPiece, type FormatLibrary } from './format-function.ts'

const percent = 0x25
const highestPort = 0xffff
/** Characters of an address; nobody has longer ones. */
const longestAddress = 64 * 1024

/** The parts of RFC 3986, appendix B, with those of the authority. */
const parts =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:([^/?#:@]*)(?::([^/?#@]*))?@)?(\[[^/?#[\]@]*\]|[^/?#:@[\]]*)(?::(\d{0,5}))?(?=[/?#]|$))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/
const schemeName = /^[A-Za-z][A-Za-z0-9+.-]*$/

/** Addresses and their encoding. */
export const url: FormatLibrary = {
  encode: (context, text) => encode(context.byteBudget(), bytesArgument(text, 'the text')),
  decode: (_context, text) => decode(bytesArgument(text, 'the text')),

  parse(context, address) {
    const text = toUnicode(bytesArgument(address, 'the address'))
    if (text.length > longestAddress)
      throw new Error(`the address has more than ${longestAddress} characters`)
    const [, scheme, user, password, host, port, path, query, fragment] = addressParts(text)
    const found = context.runtime.newTable()
    const set = (
      name: string,
      text: string | undefined,
      read: (text: string) => LuaValue = toBytes,
    ): void => {
      const value = text === undefined ? undefined : read(text)
      if (value !== undefined) found.set(name, value)
    }
    set('scheme', scheme?.toLowerCase())
    set('user', user, (text) => percentDecoded(toBytes(text)))
    set('password', password, (text) => percentDecoded(toBytes(text)))
    set('host', host, (name) => toBytes(name.startsWith('[') ? name.slice(1, -1) : name))
    set('port', port, (digits) => (digits === '' ? undefined : Number(digits)))
    set('path', path)
    set('query', query)
    set('fragment', fragment)
    return found
  },

  build(_context, wanted) {
    if (!isTable(wanted)) throw new Error(`the parts must be a table, not ${typeName(wanted)}`)
    return toBytes(build(wanted))
  },
}

function* encode(budget: { spend(bytes: number): void }, bytes: Uint8Array): Steps<LuaValue> {
  const pieces: Buffer[] = []
  yield* eachPiece(bytes, (piece) => {
    const encoded = percentEncoded(piece)
    budget.spend(encoded.length)
    pieces.push(encoded)
  })
  yield pause
  return Buffer.concat(pieces)
}

function* decode(bytes: Uint8Array): Steps<LuaValue> {
  const found = Buffer.alloc(bytes.length)
  let length = 0
  /** The digits of an escape are these many bytes further. */
  let skip = 0
  yield* eachPiece(bytes, (piece, start) => {
    for (let index = 0; index < piece.length; index += 1) {
      if (skip > 0) {
        skip -= 1
        continue
      }
      let byte = piece[index] ?? 0
      if (byte === percent) {
        byte = escaped(bytes, start + index)
        skip = 2
      }
      found[length] = byte
      length += 1
    }
  })
  return found.subarray(0, length)
}

function escaped(bytes: Uint8Array, at: number): number {
  const byte = escapedByte(bytes, at + 1)
  if (byte === undefined) throw new Error(`at byte ${at + 1} is a % without two hexadecimal digits behind it`)
  return byte
}

function addressParts(text: string): (string | undefined)[] {
  const blank = /[\s\p{Cc}]/u.exec(text)
  if (blank !== null) throw new Error(`no address: it has a blank or control character at ${blank.index + 1}`)
  const found = parts.exec(text)
  // Without its authority an address like `//a:b` would have a path that begins with two slashes.
  if (found === null || (found[4] === undefined && found[6]?.startsWith('//') === true))
    throw new Error(`no address: ${text.slice(0, 100)}`)
  if (Number(found[5] ?? 0) > highestPort) throw new Error(`no address: there is no port ${found[5]}`)
  return found
}

/** What must not stand in each part as it is; escapes that are there stay. */
const pathCharacters = /[^A-Za-z0-9._~!$&'()*+,;=:@/%-]/gu
const queryCharacters = /[^A-Za-z0-9._~!$&'()*+,;=:@/?%[\]-]/gu

function build(wanted: LuaTable): string {
  const text = (name: string): string | undefined => {
    const value = wanted.get(name)
    const given = optionalText(value)
    if (value !== undefined && given === undefined)
      throw new Error(`${name} must be a string, not ${typeName(value)}`)
    return given
  }
  const escape = (value: string, characters: RegExp): string =>
    value.replace(characters, (one) => percentEncode(toBytes(one)))
  const secret = (name: string): string | undefined => {
    const value = wanted.get(name)
    return value === undefined ? undefined : percentEncode(bytesArgument(value, name))
  }
  const [scheme, host, query, fragment] = [text('scheme'), text('host'), text('query'), text('fragment')]
  const [user, password, port] = [secret('user'), secret('password'), wanted.get('port')]
  if (scheme !== undefined && !schemeName.test(scheme)) throw new Error(`'${scheme}' is no scheme`)
  if (host === undefined && (user ?? password ?? port) !== undefined)
    throw new Error('user, password and port need a host')
  if (host !== undefined && /[\s/?#@[\]\p{Cc}]/u.test(host)) throw new Error(`'${host}' is no host`)
  let path = escape(text('path') ?? '', pathCharacters)
  let address = scheme === undefined ? '' : `${scheme}:`
  if (host !== undefined) {
    const login =
      user === undefined && password === undefined
        ? ''
        : `${user ?? ''}${password === undefined ? '' : `:${password}`}@`
    address += `//${login}${host.includes(':') ? `[${host}]` : host}${portText(port)}`
    if (path !== '' && !path.startsWith('/')) path = `/${path}`
  } else if (path.startsWith('//')) throw new Error('a path that begins with // needs a host')
  return (
    address +
    path +
    (query === undefined ? '' : `?${escape(query, queryCharacters)}`) +
    (fragment === undefined ? '' : `#${escape(fragment, queryCharacters)}`)
  )
}

function portText(value: LuaValue): string {
  if (value === undefined) return ''
  const port = optionalNumber(value)
  if (port === undefined || !Number.isInteger(port) || port < 0 || port > highestPort)
    throw new Error(`port must be a whole number from 0 to ${highestPort}`)
  return `:${port}`
}
