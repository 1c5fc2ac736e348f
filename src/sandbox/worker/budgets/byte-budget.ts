/** Bytes that one copy or text may take, counted on the way: what occurs twice counts twice. */
export interface ByteBudget {
  /** Throws `Error` when there are more than so many. */
  spend(bytes: number): void
}

export function createByteBudget(limit: number): ByteBudget {
  let left = limit
  return {
    spend(bytes) {
      left -= bytes
      if (left < 0) throw new Error(`the value is too large: it takes more than ${limit} bytes`)
    },
  }
}
