import type { ProblemDetail } from '../../base/problem.ts'

/** How many errors one value is told: more than a person reads, and a bound for a hostile input. */
export const errorLimit = 200
/** Characters of their pointers in all, after which no more are told: thousands may be below one long key. */
const pointersLength = 64 * 1024

/** Room for what is told of one value. One error has room in any case. */
export interface ErrorRoom {
  /** Whether there is room for one more; then it has taken it. */
  take(pointer: string): boolean
}

export function createErrorRoom(): ErrorRoom {
  let count = 0
  let length = 0
  return {
    take(pointer) {
      if (count >= errorLimit || length >= pointersLength) return false
      count += 1
      length += pointer.length
      return true
    },
  }
}

/** Those for which there is room; further ones are not asked for. */
export function firstErrors(errors: Iterable<ProblemDetail>): ProblemDetail[] {
  const room = createErrorRoom()
  const first: ProblemDetail[] = []
  for (const error of errors) {
    if (!room.take(error.path)) break
    first.push(error)
  }
  return first
}
