import type { ProblemDetail } from '../../base/problem.ts'

/** How many errors one value is told: more than a person reads, and a bound for a hostile input. */
export const errorLimit = 200
/** Characters of their pointers in all, after which no more are told: thousands may be below one long key. */
const pointersLength = 64 * 1024

/**
 * Limits how many errors are told of one value. Each call takes room for an error at this pointer, and answers whether there was any. The
 * first has room in any case.
 */
export function createErrorQuota(): (pointer: string) => boolean {
  let count = 0
  let length = 0
  return (pointer) => {
    if (count >= errorLimit || length >= pointersLength) return false
    count += 1
    length += pointer.length
    return true
  }
}

/** Those for which there is room; further ones are not asked for. */
export function firstErrors(errors: Iterable<ProblemDetail>): ProblemDetail[] {
  const takeRoom = createErrorQuota()
  const first: ProblemDetail[] = []
  for (const error of errors) {
    if (!takeRoom(error.path)) break
    first.push(error)
  }
  return first
}
