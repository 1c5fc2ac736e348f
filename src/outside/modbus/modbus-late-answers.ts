import type { ModbusRequest } from '../../schema/outside/outside.ts'

/** Milliseconds after its time in which an answer may still come. */
export const lateAnswerTime = 1_000

/**
 * Questions that were not answered in time. Telegrams of Modbus RTU have no number: while one of these answers may come, the
 * answer to a question of the same kind cannot be told from it, and each one after it would be that of the one before.
 */
export interface LateAnswers {
  /** It was asked, and its time is over, or nobody waits for the answer any more. */
  expect(request: ModbusRequest): void
  /** An answer has come to it: if it was asked before in vain, which of the two was answered is not known. */
  answered(request: ModbusRequest): void
  /** The question, another one than this, whose answer could be taken for the answer to this; undefined: there is none. */
  mistakable(request: ModbusRequest): LateAnswer | undefined
  /** It has come. */
  forget(late: LateAnswer): void
  /** None may come any more. */
  readonly isEmpty: boolean
}

export interface LateAnswer {
  readonly request: ModbusRequest
  /** Milliseconds of the monotonic clock. */
  until: number
}

export function createLateAnswers(now: () => number): LateAnswers {
  const expected = new Set<LateAnswer>()

  function forgetOld(): void {
    for (const late of expected) if (late.until <= now()) expected.delete(late)
  }

  return {
    expect(request) {
      forgetOld()
      expected.add({ request, until: now() + lateAnswerTime })
    },
    answered(request) {
      for (const late of expected) if (late.request === request) late.until = now() + lateAnswerTime
    },
    mistakable(request) {
      forgetOld()
      return [...expected].find(
        ({ request: other }) => other !== request && other.unit === request.unit && other.fc === request.fc,
      )
    },
    forget: (late) => void expected.delete(late),
    get isEmpty() {
      forgetOld()
      return expected.size === 0
    },
  }
}
