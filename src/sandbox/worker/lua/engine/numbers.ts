/**
 * One number type, the double. fengari marks a value as integer or float and wraps integers at 32 bits; here
 * no value counts as an integer, wherever it comes from.
 */
import { machine, metamethods, objects } from './core.ts'
import { definitions } from './settings.ts'
import { type BitOperation, bitOperation } from '../text/bit-operations.ts'
import { toLatin1 } from '../text/bytes.ts'
import type { TaggedValue } from './fengari-types.ts'
import { longestNumeral, readNumeral } from '../text/number-text.ts'

const { LUA_TNUMFLT: floatTag, LUA_TNUMINT: integerTag } = definitions.constant_types
/** Where a position or count that is infinite is taken to be. */
const largestInteger = Number.MAX_SAFE_INTEGER

let compiling = false

/** Runs the compiler, which keeps places of constants as integers in a table of its own. */
export function whileCompiling<T>(compile: () => T): T {
  compiling = true
  try {
    return compile()
  } finally {
    compiling = false
  }
}

objects.TValue.prototype.ttisinteger = function () {
  return compiling && this.type === integerTag
}
objects.TValue.prototype.ttisfloat = function () {
  return this.type === floatTag || this.type === integerTag
}

objects.luaO_str2num = (text, target) => {
  // What is longer than any numeral is not read to its end, each time that somebody calculates with it.
  const beginning = text.subarray(0, longestNumeral + 1)
  // The lexer hands over its buffer with a zero byte at the end.
  const zero = beginning.indexOf(0)
  const length = zero < 0 ? beginning.length : zero
  const value = readNumeral(toLatin1(beginning.subarray(0, length)))
  if (value === undefined) return 0
  target.type = floatTag ?? 0
  target.value = value
  return length + 1
}

// Used for arguments of library functions: cut towards zero, as Lua 5.1 does.
machine.tointeger = (value) => {
  const number = machine.tonumber(value)
  if (number === false || Number.isNaN(number)) return false
  return Math.max(-largestInteger, Math.min(largestInteger, Math.trunc(number)))
}
machine.luaV_tointeger = (value) => machine.tointeger(value)

const operations = new Map<number | undefined, BitOperation>([
  [metamethods.TMS.TM_BAND, 'and'],
  [metamethods.TMS.TM_BOR, 'or'],
  [metamethods.TMS.TM_BXOR, 'xor'],
  [metamethods.TMS.TM_SHL, 'left'],
  [metamethods.TMS.TM_SHR, 'right'],
  [metamethods.TMS.TM_BNOT, 'not'],
])

function setBits(
  operation: BitOperation,
  left: TaggedValue,
  right: TaggedValue,
  target: TaggedValue,
): boolean {
  const first = machine.tonumber(left)
  const second = machine.tonumber(right)
  if (first === false || second === false) return false
  const bits = bitOperation(operation, first, second)
  if (bits === undefined) return false
  target.type = floatTag ?? 0
  target.value = bits
  return true
}

function isFractional(value: TaggedValue): boolean {
  const number = machine.tonumber(value)
  return number !== false && !Number.isInteger(number)
}

// The machine comes here for every bit operation, since it finds no integers.
const tryMetamethod = metamethods.luaT_trybinTM
metamethods.luaT_trybinTM = (L, left, right, target, event) => {
  const operation = operations.get(event)
  if (operation === undefined) return tryMetamethod(L, left, right, target, event)
  if (setBits(operation, left, right, target)) return undefined
  // To name the operand that is at fault fengari asks `tointeger`, to which here any number is right.
  const isFirstAtFault = isFractional(left) && machine.tonumber(right) !== false
  return tryMetamethod(L, left, isFirstAtFault ? left : right, target, event)
}

/** `LUA_OPBAND` and the rest stand in the order of their metamethods. */
const arithmetic = objects.luaO_arith
const firstEvent = metamethods.TMS.TM_ADD ?? 0
objects.luaO_arith = (L, operation, left, right, target) => {
  const bits = operations.get(firstEvent + operation)
  const slot = typeof target === 'number' ? L?.stack[target] : target
  if (bits !== undefined && slot !== undefined) {
    if (setBits(bits, left, right, slot)) return
    // The compiler does not fold what gives NaN, so the operation is left to run time, where it raises.
    if (L === null) {
      slot.type = floatTag ?? 0
      slot.value = Number.NaN
      return
    }
  }
  arithmetic(L, operation, left, right, target)
}
