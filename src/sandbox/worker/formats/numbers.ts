import type { LuaValue } from '../lua/lua-value.ts'
import { option, optionalNumber } from '../lua/arguments.ts'
import type { FormatLibrary } from './format-function.ts'
import { mostDecimals, rounded } from './rounding.ts'

/** What rows of settings do to numbers. What is no number stays as it is. */
export const numbers: FormatLibrary = {
  round: (_context, value, digits) => roundedTo(value, digits ?? 0),

  /** `value * scale + offset`, rounded to `round` digits; what `how` does not say is left out. */
  scale(_context, value, how) {
    const [scale, offset] = [numberIn(how, 'scale'), numberIn(how, 'offset')]
    const digits = option(how, 'round')
    const number = optionalNumber(value)
    if (number === undefined || (scale === undefined && offset === undefined && digits === undefined))
      return value
    const scaled = number * (scale ?? 1) + (offset ?? 0)
    return digits === undefined ? scaled : roundedTo(scaled, digits)
  },
}

function numberIn(how: LuaValue, name: string): number | undefined {
  const given = option(how, name)
  const number = optionalNumber(given)
  if (given !== undefined && number === undefined) throw new Error(`${name} must be a number`)
  return number
}

function roundedTo(value: LuaValue, digits: LuaValue): LuaValue {
  const decimals = optionalNumber(digits)
  if (decimals === undefined || !Number.isInteger(decimals) || decimals < 0 || decimals > mostDecimals)
    throw new Error(`round takes a whole number from 0 to ${mostDecimals}`)
  const number = optionalNumber(value)
  return number === undefined || !Number.isFinite(number) ? value : Number(rounded(number, decimals))
}
