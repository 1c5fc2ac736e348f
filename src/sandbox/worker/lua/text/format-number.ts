import { exponentialText, fixedText, generalText, hexadecimalText, nonFiniteText } from './number-text.ts'

/** One item of a format string, such as `%-08.3f`. */
export interface FormatItem {
  flags: string
  width: number
  precision: number | undefined
  conversion: string
}

/** An item without its percent sign: flags, at most two digits of width and of precision, a letter. */
const itemPattern = /([-+ #0]{0,5})(\d{0,2})(?:\.(\d{0,2}))?([A-Za-z]?)/y

/** Reads the item at `start`, behind the percent sign; `next` is where the format goes on. */
export function readItem(format: string, start: number): { item: FormatItem; next: number } | undefined {
  itemPattern.lastIndex = start
  const [whole = '', flags = '', width = '', precision, conversion = ''] = itemPattern.exec(format) ?? []
  if (conversion === '') return undefined
  const item = {
    flags,
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    conversion,
  }
  return { item, next: start + whole.length }
}

/** Blanks up to the width, on the side that the flags name. */
export function padText(text: string, { flags, width }: FormatItem): string {
  return flags.includes('-') ? text.padEnd(width) : text.padStart(width)
}

function assemble(sign: string, digits: string, item: FormatItem, zeros: boolean): string {
  const room = item.width - sign.length
  if (zeros && !item.flags.includes('-')) return sign + digits.padStart(room, '0')
  return padText(sign + digits, item)
}

function signOf(negative: boolean, flags: string): string {
  if (negative) return '-'
  if (flags.includes('+')) return '+'
  return flags.includes(' ') ? ' ' : ''
}

/** `%d %i %u %x %X %o`: any finite number, cut towards zero; what is not finite is written out. */
export function formatInteger(value: number, item: FormatItem): string {
  const text = nonFiniteText(value)
  if (text !== undefined) return padText(text, item)
  const integer = BigInt(Math.trunc(value))
  const signed = item.conversion === 'd' || item.conversion === 'i'
  // A negative number without sign is its two's complement of 64 bits.
  const opposite = signed ? -integer : BigInt.asUintN(64, integer)
  const size = integer < 0n ? opposite : integer
  const radix = item.conversion === 'o' ? 8 : item.conversion.toLowerCase() === 'x' ? 16 : 10
  let digits = size.toString(radix).padStart(item.precision ?? 1, '0')
  if (item.precision === 0 && size === 0n) digits = ''
  let prefix = signed ? signOf(integer < 0n, item.flags) : ''
  if (item.flags.includes('#') && radix === 16 && size !== 0n) prefix = '0x'
  if (item.flags.includes('#') && radix === 8 && !digits.startsWith('0')) digits = `0${digits}`
  const result = assemble(prefix, digits, item, item.flags.includes('0') && item.precision === undefined)
  return item.conversion === 'X' ? result.toUpperCase() : result
}

/** Digits behind the point where none are asked for. */
const defaultPrecision = 6

/** `%f %F %e %E %g %G %a %A`. */
export function formatFloat(value: number, item: FormatItem): string {
  const upper = item.conversion === item.conversion.toUpperCase()
  const sign = signOf(value < 0 || Object.is(value, -0), item.flags)
  const text = nonFiniteText(Math.abs(value))
  const result =
    text === undefined
      ? assemble(...floatDigits(Math.abs(value), sign, item), item, item.flags.includes('0'))
      : padText(sign + text, item)
  return upper ? result.toUpperCase() : result
}

function floatDigits(size: number, sign: string, item: FormatItem): [sign: string, digits: string] {
  const precision = item.precision ?? defaultPrecision
  const keepZeros = item.flags.includes('#')
  switch (item.conversion.toLowerCase()) {
    case 'e':
      return [sign, exponentialText(size, precision)]
    case 'g':
      return [sign, generalText(size, precision, keepZeros)]
    case 'a':
      return [`${sign}0x`, hexadecimalText(size, item.precision).slice(2)]
    default:
      return [sign, fixedText(size, precision)]
  }
}
