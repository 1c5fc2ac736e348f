/** A double as fraction and power of two, exactly, those too that are too small to be normal. Pure. */

/** Of a finite double but zero and those below `smallestNormal`, as IEEE 754 has them. */
const exponentBias = 1022
const smallestNormal = 2 ** -exponentBias
/** Makes the smallest double normal. */
const lift = 54

/** C's `frexp`: `value = fraction × 2^exponent`, the fraction from 0.5 to below 1; zero, infinity and NaN stay. */
export function splitFloat(value: number): [fraction: number, exponent: number] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0]
  if (Math.abs(value) < smallestNormal) {
    const [fraction, exponent] = splitFloat(value * 2 ** lift)
    return [fraction, exponent - lift]
  }
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const exponent = ((bits.getUint16(0) >> 4) & 0x7ff) - exponentBias
  bits.setUint16(0, (bits.getUint16(0) & 0x800f) | (exponentBias << 4))
  return [bits.getFloat64(0), exponent]
}

/** C's `ldexp`: `value × 2^exponent`, rounded once. */
export function joinFloat(value: number, exponent: number): number {
  const [fraction, own] = splitFloat(value)
  const whole = own + exponent
  if (fraction === 0 || !Number.isFinite(fraction)) return value
  // Each first product is exact: only the last one may round, overflow or come to nothing.
  if (whole > 1)
    return fraction * 2 ** Math.min(whole - 1, 1023) * (whole > 1024 ? Number.POSITIVE_INFINITY : 2)
  return fraction * (2 * smallestNormal) * 2 ** Math.max(whole + exponentBias - 1, -1074)
}
