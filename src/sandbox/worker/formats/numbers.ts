import type { LuaValue } from '../lua/lua-value.ts'
import { option, optionalNumber } from '../lua/arguments.ts'
import type { FormatLibrary } from './format-function.ts'
import { roundedText } from './rounding.ts'

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
  const text = roundedText(value, digits)
  return text === undefined ? value : Number(text)
}
