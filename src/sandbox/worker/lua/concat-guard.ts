import { toBytes } from './text/bytes.ts'
import { basicType, debugging, opcodes, tags } from './engine/engine.ts'
import type { Instruction, LuaState, LuaString, Prototype } from './engine/fengari-types.ts'
import { tellTooLong, tooLong } from './string-limit.ts'

const concatenation = opcodes.OpCodesI.OP_CONCAT

/** Looks at the operands of a long concatenation before it is carried out. */
export interface ConcatGuard {
  thread(): LuaState
  stringLimit: number
}

/**
 * fengari reserves the memory of `a .. b .. c …` before anybody sees its length, and one expression may have two
 * hundred operands. The machine reads `C` right before it starts, so that is where the length is checked.
 */
class GuardedConcat implements Instruction {
  readonly opcode: number
  readonly A: number
  readonly B: number
  private readonly last: number
  private readonly guard: ConcatGuard

  constructor(original: Instruction, guard: ConcatGuard) {
    this.opcode = original.opcode
    this.A = original.A
    this.B = original.B
    this.last = original.C
    this.guard = guard
  }

  get C(): number {
    const L = this.guard.thread()
    const base = L.ci.l_base
    let length = 0
    for (let register = this.B; register <= this.last; register += 1) {
      const operand = L.stack[base + register]
      if (operand !== undefined && basicType(operand.type) === basicType(tags.string)) {
        length += (operand.value as LuaString).realstring.length
      }
    }
    const { stringLimit } = this.guard
    if (length > stringLimit) {
      tellTooLong(L)
      debugging.luaG_runerror(L, toBytes(tooLong(stringLimit)))
    }
    return this.last
  }
}

/** Puts the check into a compiled chunk and all functions in it; two operands are no danger. */
export function guardConcatenations(prototype: Prototype, guard: ConcatGuard): void {
  for (const [index, instruction] of prototype.code.entries()) {
    if (instruction.opcode === concatenation && instruction.C - instruction.B > 1) {
      prototype.code[index] = new GuardedConcat(instruction, guard)
    }
  }
  for (const inner of prototype.p) guardConcatenations(inner, guard)
}
