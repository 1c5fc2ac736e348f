import { createByteBuilder } from '../text/byte-builder.ts'
import { fromLatin1, toBytes, toLatin1 } from '../text/bytes.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { type FormatItem, formatFloat, formatInteger, padText, readItem } from '../text/format-number.ts'
import { nonFiniteText, numberText } from '../text/number-text.ts'
import { LuaFailure, StringTooLong } from '../raw-function.ts'
import { inPieces } from '../raw-steps.ts'
import type { LibraryContext } from './libraries.ts'

/** Between two questions whether to go on. */
const itemsPerPause = 1_000

/** `string.format`; texts are one character a byte in here. */
export function format({ stringLimit }: LibraryContext): RawFunction {
  return (L) => {
    const text = toLatin1(auxiliary.luaL_checkstring(L, 1))
    const builder = createByteBuilder(stringLimit)
    let argument = 1
    let at = 0
    return inPieces(L, () => {
      for (let items = 0; items < itemsPerPause; items += 1) {
        const percent = text.indexOf('%', at)
        builder.add(fromLatin1(percent < 0 ? text.slice(at) : text.slice(at, percent)))
        if (percent < 0) {
          lua.lua_pushstring(L, builder.take())
          return 1
        }
        if (text[percent + 1] === '%') {
          builder.add(fromLatin1('%'))
          at = percent + 2
          continue
        }
        const found = readItem(text, percent + 1)
        if (found === undefined) {
          throw new LuaFailure(`invalid option '${text.slice(percent, percent + 4)}' to 'format'`)
        }
        argument += 1
        if (argument > lua.lua_gettop(L)) auxiliary.luaL_argerror(L, argument, toBytes('no value'))
        builder.add(convert(L, found.item, argument, stringLimit))
        at = found.next
      }
      return undefined
    })
  }
}

function convert(L: LuaState, item: FormatItem, argument: number, stringLimit: number): Uint8Array {
  const { conversion } = item
  if (conversion === 's') return string(L, item, argument)
  if (conversion === 'q') return literal(L, argument, stringLimit)
  if (!'diuxXocaAeEfFgG'.includes(conversion))
    throw new LuaFailure(`invalid option '%${conversion}' to 'format'`)
  const value = auxiliary.luaL_checknumber(L, argument)
  if (conversion === 'c') return fromLatin1(padText(String.fromCharCode(Math.trunc(value) & 0xff), item))
  return fromLatin1('diuxXo'.includes(conversion) ? formatInteger(value, item) : formatFloat(value, item))
}

function string(L: LuaState, item: FormatItem, argument: number): Uint8Array {
  const bytes = auxiliary.luaL_tolstring(L, argument)
  lua.lua_pop(L, 1)
  if (item.precision === undefined && item.width <= bytes.length) return bytes
  return fromLatin1(padText(toLatin1(bytes.subarray(0, item.precision ?? bytes.length)), item))
}

/** A literal that Lua reads back as the same value. */
function literal(L: LuaState, argument: number, stringLimit: number): Uint8Array {
  switch (lua.lua_type(L, argument)) {
    case lua.LUA_TSTRING:
      return quoted(auxiliary.luaL_checkstring(L, argument), stringLimit)
    case lua.LUA_TNUMBER: {
      const value = auxiliary.luaL_checknumber(L, argument)
      if (Number.isNaN(value)) return fromLatin1('(0/0)')
      if (nonFiniteText(value) !== undefined) return fromLatin1(value > 0 ? '1e9999' : '-1e9999')
      const text = numberText(value)
      return fromLatin1(Number(text) === value ? text : String(value))
    }
    case lua.LUA_TNIL:
    case lua.LUA_TBOOLEAN: {
      const text = auxiliary.luaL_tolstring(L, argument)
      lua.lua_pop(L, 1)
      return text
    }
    default:
      return auxiliary.luaL_argerror(L, argument, toBytes('value has no literal form'))
  }
}

const quotationMark = 0x22

/** By byte: what stands for it between quotation marks, if not the byte itself; numbers with so many digits at least. */
const escapes = (digits: number): (Uint8Array | undefined)[] =>
  Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte)
    if ('"\\\n'.includes(character)) return fromLatin1(`\\${character}`)
    if (byte >= 0x20 && byte !== 0x7f) return undefined
    return fromLatin1(`\\${String(byte).padStart(digits, '0')}`)
  })
const plainEscapes = escapes(1)
const escapesBeforeDigit = escapes(3)

/** Measured first, and written then: with a text for each byte it would take seconds for some megabytes. */
function quoted(text: Uint8Array, stringLimit: number): Uint8Array {
  const escapeAt = (at: number): Uint8Array | undefined => {
    const digit = (text[at + 1] ?? 0) - 0x30
    return (digit >= 0 && digit <= 9 ? escapesBeforeDigit : plainEscapes)[text[at] ?? 0]
  }
  let length = 2
  for (let at = 0; at < text.length; at += 1) length += escapeAt(at)?.length ?? 1
  if (length > stringLimit) throw new StringTooLong(stringLimit)
  const literal = new Uint8Array(length).fill(quotationMark)
  let end = 1
  for (let at = 0; at < text.length; at += 1) {
    const escape = escapeAt(at)
    if (escape === undefined) {
      literal[end] = text[at] ?? 0
      end += 1
      continue
    }
    for (const byte of escape) {
      literal[end] = byte
      end += 1
    }
  }
  return literal
}
