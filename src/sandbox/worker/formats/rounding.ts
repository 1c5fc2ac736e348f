import { numberText } from '../lua/text/number-text.ts'

/** Decimals that a double can tell apart. */
export const mostDecimals = 15

/** Half away from zero, with as many decimals as were asked for; `1.005` is what it looks like. */
export function rounded(number: number, decimals: number): string {
  const shifted = Math.round(Number(`${Math.abs(number)}e${decimals}`))
  const text = Number.isFinite(shifted)
    ? Number(`${shifted}e-${decimals}`).toFixed(decimals)
    : numberText(Math.abs(number))
  return number < 0 && Number(text) !== 0 ? `-${text}` : text
}
