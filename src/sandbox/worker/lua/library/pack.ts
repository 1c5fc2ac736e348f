import { createByteBuilder } from '../text/byte-builder.ts'
import { fromLatin1, toLatin1 } from '../text/bytes.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { createPackReader, type PackOption } from '../text/pack-format.ts'
import { StringTooLong } from '../raw-function.ts'
import { inPieces } from '../raw-steps.ts'
import type { LibraryContext } from './libraries.ts'

/** Between two questions whether to go on. */
const optionsPerPause = 1_000

/** `pack`, `packsize` and `unpack`; fengari's know only 32 bits. */
export function packFunctions({ stringLimit }: LibraryContext): Record<string, RawFunction> {
  return { pack: (L) => pack(L, stringLimit), packsize: (L) => packSize(L, stringLimit), unpack }
}

/** The bytes of an integer in two's complement; `BigInt` beyond what 32-bit operations can do. */
function integerBytes(value: number, { size, little }: PackOption): Uint8Array {
  const bytes = new Uint8Array(size)
  let rest = BigInt(value)
  for (let index = 0; index < size; index += 1) {
    bytes[little ? index : size - 1 - index] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return bytes
}

function readInteger(bytes: Uint8Array, { size, little }: PackOption, signed: boolean): number {
  let value = 0n
  for (let index = size - 1; index >= 0; index -= 1) {
    value = (value << 8n) | BigInt(bytes[little ? index : size - 1 - index] ?? 0)
  }
  return Number(signed ? BigInt.asIntN(size * 8, value) : value)
}

function floatBytes(value: number, { size, little }: PackOption): Uint8Array {
  const view = new DataView(new ArrayBuffer(size))
  if (size === 4) view.setFloat32(0, value, little)
  else view.setFloat64(0, value, little)
  return new Uint8Array(view.buffer)
}

function readFloat(bytes: Uint8Array, { size, little }: PackOption): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, size)
  return size === 4 ? view.getFloat32(0, little) : view.getFloat64(0, little)
}

/** Not by `luaL_checkinteger`, for which a number beyond 2^53 is the largest place there is. */
function checkInteger(L: LuaState, argument: number, { kind, size }: PackOption): number {
  const value = Math.trunc(auxiliary.luaL_checknumber(L, argument))
  const half = 2 ** (size * 8 - 1)
  // A negative number as the unsigned one of the same 64 bits is what Lua 5.3 does.
  const least = kind === 'unsigned' && size < 8 ? 0 : -half
  const fits = value >= least && value < (kind === 'signed' ? half : 2 * half)
  if (!fits) auxiliary.luaL_argerror(L, argument, fromLatin1('integer does not fit its size'))
  return value
}

function pack(L: LuaState, stringLimit: number): number {
  const builder = createByteBuilder(stringLimit)
  const next = createPackReader(toLatin1(auxiliary.luaL_checkstring(L, 1)))
  let argument = 1
  let length = 0
  const add = (piece: Uint8Array): void => {
    builder.add(piece)
    length += piece.length
  }
  return inPieces(L, () => {
    for (let count = 0; count < optionsPerPause; count += 1) {
      const option = next(length)
      if (option === undefined) {
        lua.lua_pushstring(L, builder.take())
        return 1
      }
      if (option.padding > 0) add(new Uint8Array(option.padding))
      if (option.kind === 'nothing') continue
      if (option.kind === 'padding') {
        add(new Uint8Array(1))
        continue
      }
      argument += 1
      if (option.kind === 'signed' || option.kind === 'unsigned') {
        add(integerBytes(checkInteger(L, argument, option), option))
      } else if (option.kind === 'float') {
        add(floatBytes(auxiliary.luaL_checknumber(L, argument), option))
      } else addText(L, argument, option, add)
    }
    return undefined
  })
}

function addText(L: LuaState, argument: number, option: PackOption, add: (piece: Uint8Array) => void): void {
  const text = auxiliary.luaL_checkstring(L, argument)
  if (option.kind === 'fixed') {
    if (text.length > option.size)
      auxiliary.luaL_argerror(L, argument, fromLatin1('string longer than given size'))
    add(text)
    add(new Uint8Array(option.size - text.length))
  } else if (option.kind === 'counted') {
    if (text.length >= 2 ** (8 * option.size)) {
      auxiliary.luaL_argerror(L, argument, fromLatin1('string length does not fit in given size'))
    }
    add(integerBytes(text.length, option))
    add(text)
  } else {
    if (text.includes(0)) auxiliary.luaL_argerror(L, argument, fromLatin1('string contains zeros'))
    add(text)
    add(new Uint8Array(1))
  }
}

function packSize(L: LuaState, stringLimit: number): number {
  const next = createPackReader(toLatin1(auxiliary.luaL_checkstring(L, 1)))
  let length = 0
  return inPieces(L, () => {
    for (let count = 0; count < optionsPerPause; count += 1) {
      const option = next(length)
      if (option === undefined) {
        lua.lua_pushnumber(L, length)
        return 1
      }
      if (option.kind === 'counted' || option.kind === 'terminated') {
        auxiliary.luaL_argerror(L, 1, fromLatin1('variable-length format'))
      }
      length += option.padding + option.size
      if (length > stringLimit) throw new StringTooLong(stringLimit)
    }
    return undefined
  })
}

function unpack(L: LuaState): number {
  const next = createPackReader(toLatin1(auxiliary.luaL_checkstring(L, 1)))
  const data = auxiliary.luaL_checkstring(L, 2)
  const start = auxiliary.luaL_optinteger(L, 3, 1)
  let at = start < 0 ? data.length + start : start - 1
  if (at < 0 || at > data.length) auxiliary.luaL_argerror(L, 3, fromLatin1('initial position out of string'))
  const need = (bytes: number): void => {
    if (at + bytes > data.length) auxiliary.luaL_argerror(L, 2, fromLatin1('data string too short'))
  }
  let results = 0
  function readNext(option: PackOption): void {
    need(option.padding + option.size)
    at += option.padding
    if (option.kind === 'nothing' || option.kind === 'padding') {
      at += option.size
      return
    }
    auxiliary.luaL_checkstack(L, 2, fromLatin1('too many results'))
    const bytes = data.subarray(at)
    at += option.size
    if (option.kind === 'signed' || option.kind === 'unsigned') {
      lua.lua_pushnumber(L, readInteger(bytes, option, option.kind === 'signed'))
    } else if (option.kind === 'float') lua.lua_pushnumber(L, readFloat(bytes, option))
    else if (option.kind === 'fixed') lua.lua_pushstring(L, bytes.subarray(0, option.size))
    else if (option.kind === 'counted') {
      const length = readInteger(bytes, option, false)
      need(length)
      lua.lua_pushstring(L, data.subarray(at, at + length))
      at += length
    } else {
      const end = data.indexOf(0, at)
      if (end < 0) auxiliary.luaL_argerror(L, 2, fromLatin1("unfinished string for format 'z'"))
      lua.lua_pushstring(L, data.subarray(at, end))
      at = end + 1
    }
    results += 1
  }
  return inPieces(L, () => {
    for (let count = 0; count < optionsPerPause; count += 1) {
      const option = next(at)
      if (option === undefined) {
        lua.lua_pushnumber(L, at + 1)
        return results + 1
      }
      readNext(option)
    }
    return undefined
  })
}
