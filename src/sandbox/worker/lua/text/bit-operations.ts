/** Lua's bit operations on doubles: 64 bits wide, signed, as in Lua 5.3. Pure. */
export type BitOperation = 'and' | 'or' | 'xor' | 'left' | 'right' | 'not'

const width = 64

const shift = (value: bigint, places: number): bigint => {
  if (Math.abs(places) >= width) return 0n
  return places >= 0 ? value << BigInt(places) : BigInt.asUintN(width, value) >> BigInt(-places)
}

function wide(operation: BitOperation, left: number, right: number): number {
  const a = BigInt(left)
  const b = BigInt(right)
  const bits = (): bigint => {
    switch (operation) {
      case 'and':
        return a & b
      case 'or':
        return a | b
      case 'xor':
        return a ^ b
      case 'not':
        return ~a
      case 'left':
        return shift(a, right)
      case 'right':
        return shift(a, -right)
    }
  }
  return Number(BigInt.asIntN(width, bits()))
}

/** The result as a double; `undefined` when an operand is not integral. */
export function bitOperation(operation: BitOperation, left: number, right: number): number | undefined {
  if (!Number.isInteger(left) || !Number.isInteger(right)) return undefined
  // The everyday case, 31 bits without sign, needs no big integers.
  if (left >= 0 && right >= 0 && left <= 0x7fffffff && right <= 0x7fffffff) {
    if (operation === 'and') return left & right
    if (operation === 'or') return left | right
    if (operation === 'xor') return left ^ right
    if (operation === 'right' && right < 32) return left >> right
    if (operation === 'left' && right < 22) return left * 2 ** right
  }
  return wide(operation, left, right)
}
