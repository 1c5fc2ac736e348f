import { integerText } from '../../../../base/text/json.ts'
import { trimEndOf } from '../../../../base/text/trim-end.ts'

/** How numbers are read from text and written as text. Pure. */

/** From here on no computer calls it an integer, and there are more digits than anybody reads. */
const endOfIntegers = 2 ** 63
/** Significant digits of a number that is not integral, as in `LUA_NUMBER_FMT`. */
const significantDigits = 14
/** `toFixed` and `toExponential` give no more digits. */
const mostDigits = 100
/** Digits past the last one that show whether a value lies exactly between two roundings. */
const digitsBeyond = 30

/** Whether Lua 5.3 could have it as an integer, which has 64 bits. */
export const isLuaInteger = (value: number): boolean =>
  Number.isInteger(value) && value >= -endOfIntegers && value < endOfIntegers

/** As `tostring` writes it: integral values of 64 bits with every digit and no `.0`, others with 14 digits. */
export function numberText(value: number): string {
  if (isLuaInteger(value)) return integerText(value)
  return nonFiniteText(value) ?? (value < 0 ? '-' : '') + generalText(Math.abs(value), significantDigits)
}

/** `nan`, `inf` or `-inf`; `undefined` for a finite number. */
export function nonFiniteText(value: number): string | undefined {
  if (Number.isNaN(value)) return 'nan'
  if (value === Number.POSITIVE_INFINITY) return 'inf'
  return value === Number.NEGATIVE_INFINITY ? '-inf' : undefined
}

/**
 * Cuts `exact`, the longer form of `rounded`, when the value lies exactly half-way and the last digit that
 * stays is even: C rounds half to even there, JavaScript away from zero.
 */
function halfToEven(rounded: string, exact: string): string {
  const kept = rounded.includes('.') ? rounded.length : rounded.length + 1
  const integral = exact.split('.')[0] ?? ''
  // A carry made the rounded form longer; then the last digit kept is a nine, which is odd.
  if (integral.length !== (rounded.split('.')[0] ?? '').length) return rounded
  if (!/^50*$/.test(exact.slice(kept))) return rounded
  const cut = exact.slice(0, rounded.length)
  return /[02468]$/.test(cut) ? cut : rounded
}

/** `%.<digits>f` of a finite number that is not negative. */
export function fixedText(value: number, digits: number): string {
  const places = Math.min(digits, mostDigits)
  if (value >= 1e21) return BigInt(value).toString() + (places > 0 ? `.${'0'.repeat(places)}` : '')
  return halfToEven(value.toFixed(places), value.toFixed(Math.min(mostDigits, places + digitsBeyond)))
}

function scientific(value: number, digits: number): { mantissa: string; exponent: number } {
  const places = Math.min(digits, mostDigits)
  const [rounded = '', exponent = '0'] = value.toExponential(places).split('e')
  const [exact = '', exactExponent = '0'] = value
    .toExponential(Math.min(mostDigits, places + digitsBeyond))
    .split('e')
  const mantissa = exponent === exactExponent ? halfToEven(rounded, exact) : rounded
  return { mantissa, exponent: Number(exponent) }
}

const exponentText = (exponent: number): string =>
  `e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`

/** `%.<digits>e` of a finite number that is not negative. */
export function exponentialText(value: number, digits: number): string {
  const { mantissa, exponent } = scientific(value, digits)
  return mantissa + exponentText(exponent)
}

/** `%.<precision>g` of a finite number that is not negative; `keepZeros` is the flag `#`. */
export function generalText(value: number, precision: number, keepZeros = false): string {
  const digits = Math.max(precision, 1)
  const { mantissa, exponent } = scientific(value, digits - 1)
  const trim = (text: string): string =>
    keepZeros || !text.includes('.') ? text : trimEndOf(trimEndOf(text, '0'), '.')
  if (exponent < -4 || exponent >= digits) return trim(mantissa) + exponentText(exponent)
  return trim(fixedText(value, digits - 1 - exponent))
}

/** `%.<digits>a` of a finite number that is not negative; without `digits` as many as it takes. */
export function hexadecimalText(value: number, digits?: number): string {
  if (value === 0) return `0x0${digits ? `.${'0'.repeat(digits)}` : ''}p+0`
  let exponent = Math.max(Math.floor(Math.log2(value)), -1022)
  let fraction = value / 2 ** exponent
  if (fraction >= 2) {
    fraction /= 2
    exponent += 1
  } else if (fraction < 1 && exponent > -1022) {
    fraction *= 2
    exponent -= 1
  }
  // 52 bits are 13 hexadecimal digits, so this integer is exact.
  let bits = BigInt(fraction * 2 ** 52)
  if (digits !== undefined && digits < 13) {
    const dropped = BigInt(4 * (13 - digits))
    const half = 1n << (dropped - 1n)
    const rest = bits & ((1n << dropped) - 1n)
    bits >>= dropped
    if (rest > half || (rest === half && (bits & 1n) === 1n)) bits += 1n
    bits <<= dropped
  }
  const lead = bits >> 52n
  let tail = (bits & ((1n << 52n) - 1n)).toString(16).padStart(13, '0')
  tail = digits === undefined ? trimEndOf(tail, '0') : tail.padEnd(digits, '0').slice(0, digits)
  return `0x${lead.toString(16)}${tail === '' ? '' : `.${tail}`}p${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`
}

const blank = '[ \\t\\n\\v\\f\\r]*'
const decimalNumeral = new RegExp(`^${blank}[+-]?(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?${blank}$`)
const hexadecimalNumeral = new RegExp(
  `^${blank}([+-]?)0[xX]([\\da-fA-F]*)(?:\\.([\\da-fA-F]*))?(?:[pP]([+-]?\\d+))?${blank}$`,
)
/** Longer text is no numeral that anyone wrote; it would only cost time. */
export const longestNumeral = 2000

/** The double that a Lua numeral stands for, blanks around it allowed; `undefined` when it is none. */
export function readNumeral(text: string): number | undefined {
  if (text.length > longestNumeral) return undefined
  if (decimalNumeral.test(text)) return Number.parseFloat(text.trim())
  const parts = hexadecimalNumeral.exec(text)
  if (parts === null) return undefined
  const [, sign, integral = '', fraction = '', exponent = '0'] = parts
  if (integral === '' && fraction === '') return undefined
  // BigInt first: one rounding at the end instead of one a digit.
  const mantissa = Number(BigInt(`0x${integral}${fraction}`))
  const value = mantissa * 2 ** (Number(exponent) - 4 * fraction.length)
  return sign === '-' ? -value : value
}

/** `tonumber(text, base)`: digits and letters of that base, a sign, blanks around it. */
export function readInteger(text: string, base: number): number | undefined {
  if (text.length > longestNumeral) return undefined
  const parts = /^[ \t\n\v\f\r]*([+-]?)([0-9a-zA-Z]+)[ \t\n\v\f\r]*$/.exec(text)
  if (parts === null) return undefined
  let value = 0
  for (const digit of parts[2] ?? '') {
    const worth = Number.parseInt(digit, 36)
    if (worth >= base) return undefined
    value = value * base + worth
  }
  return parts[1] === '-' ? -value : value
}
