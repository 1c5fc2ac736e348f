import { optionalNumber } from '../lua/arguments.ts'
import type { LuaValue } from '../lua/lua-value.ts'
import { numberText } from '../lua/text/number-text.ts'

/** Decimals that a double can tell apart. */
const mostDecimals = 15

/** A finite number, rounded to so many digits; undefined for anything else. Throws when that is no number of digits. */
export function roundedText(value: LuaValue, digits: LuaValue): string | undefined {
  const decimals = optionalNumber(digits)
  if (decimals === undefined || !Number.isInteger(decimals) || decimals < 0 || decimals > mostDecimals)
    throw new Error(`round takes a whole number from 0 to ${mostDecimals}`)
  const number = optionalNumber(value)
  return number === undefined || !Number.isFinite(number) ? undefined : rounded(number, decimals)
}

/** Half away from zero, with as many decimals as were asked for; `1.005` is what it looks like. */
export function rounded(number: number, decimals: number): string {
  const shifted = Math.round(Number(`${Math.abs(number)}e${decimals}`))
  const text = Number.isFinite(shifted)
    ? Number(`${shifted}e-${decimals}`).toFixed(decimals)
    : numberText(Math.abs(number))
  return number < 0 && Number(text) !== 0 ? `-${text}` : text
}
