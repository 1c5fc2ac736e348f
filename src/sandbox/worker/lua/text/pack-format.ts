/** The format strings of `string.pack`. Pure. */
import { LuaFailure } from '../raw-function.ts'

export type PackKind =
  | 'signed'
  | 'unsigned'
  | 'float'
  | 'fixed' // a string of the size given
  | 'counted' // a string behind its length
  | 'terminated' // a string before a zero byte
  | 'padding' // one zero byte
  | 'nothing'

export interface PackOption {
  kind: PackKind
  /** Bytes; of a counted string those of its length, of a terminated one 0. */
  size: number
  /** Bytes before it, for alignment. */
  padding: number
  little: boolean
}

const largestInteger = 16
const nativeAlignment = 8

const integers: Record<string, [kind: PackKind, size: number]> = {
  b: ['signed', 1],
  B: ['unsigned', 1],
  h: ['signed', 2],
  H: ['unsigned', 2],
  l: ['signed', 8],
  L: ['unsigned', 8],
  j: ['signed', 8],
  J: ['unsigned', 8],
  T: ['unsigned', 8],
}

const floats: Record<string, number> = { f: 4, d: 8, n: 8 }

type Item = Pick<PackOption, 'kind' | 'size'> & { aligned: boolean }
const nothing: Item = { kind: 'nothing', size: 0, aligned: false }

/** Answers the next option when `length` bytes come before it; `undefined` at the end. */
export function createPackReader(format: string): (length: number) => PackOption | undefined {
  let at = 0
  let little = true
  let alignment = 1

  function digits(): number | undefined {
    const found = /^\d+/.exec(format.slice(at, at + 12))?.[0]
    if (found === undefined) return undefined
    at += found.length
    return Number(found)
  }

  function limitedSize(fallback: number): number {
    const size = digits() ?? fallback
    if (size < 1 || size > largestInteger) {
      throw new LuaFailure(`integral size (${size}) out of limits [1,${largestInteger}]`)
    }
    return size
  }

  function read(): Item {
    const letter = format[at] ?? ''
    at += 1
    const integer = integers[letter]
    if (integer !== undefined) return { kind: integer[0], size: integer[1], aligned: true }
    const float = floats[letter]
    if (float !== undefined) return { kind: 'float', size: float, aligned: true }
    switch (letter) {
      case 'i':
        return { kind: 'signed', size: limitedSize(4), aligned: true }
      case 'I':
        return { kind: 'unsigned', size: limitedSize(4), aligned: true }
      case 's':
        return { kind: 'counted', size: limitedSize(8), aligned: true }
      case 'z':
        return { kind: 'terminated', size: 0, aligned: false }
      case 'c': {
        const size = digits()
        if (size === undefined) throw new LuaFailure("missing size for format option 'c'")
        return { kind: 'fixed', size, aligned: false }
      }
      case 'x':
        return { kind: 'padding', size: 1, aligned: false }
      case 'X': {
        const like = at < format.length ? read() : nothing
        if (like.kind === 'fixed' || like.size === 0)
          throw new LuaFailure("invalid next option for option 'X'")
        return { kind: 'nothing', size: like.size, aligned: true }
      }
      case '<':
      case '=':
        little = true
        return nothing
      case '>':
        little = false
        return nothing
      case '!':
        alignment = limitedSize(nativeAlignment)
        return nothing
      case ' ':
        return nothing
      default:
        throw new LuaFailure(`invalid format option '${letter}'`)
    }
  }

  return (length) => {
    if (at >= format.length) return undefined
    const item = read()
    const boundary = item.aligned ? Math.min(item.size, alignment) : 1
    if ((boundary & (boundary - 1)) !== 0) throw new LuaFailure('format asks for alignment not power of 2')
    const padding = boundary > 1 ? (boundary - (length % boundary)) % boundary : 0
    return { kind: item.kind, size: item.kind === 'nothing' ? 0 : item.size, padding, little }
  }
}
