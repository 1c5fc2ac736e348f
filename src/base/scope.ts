/**
 * Owns clean-ups and runs them in reverse order. All of them run, even when one fails; the first error is
 * thrown at the end.
 */
export interface Scope {
  add(cleanUp: () => unknown): void
  /** Idempotent: a second call gives the promise of the first. */
  close(): Promise<void>
}

export function createScope(): Scope {
  const cleanUps: (() => unknown)[] = []
  let closing: Promise<void> | undefined
  async function closeAll(): Promise<void> {
    const errors: unknown[] = []
    for (let cleanUp = cleanUps.pop(); cleanUp !== undefined; cleanUp = cleanUps.pop()) {
      try {
        await cleanUp()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
  return {
    add: (cleanUp) => void cleanUps.push(cleanUp),
    close: () => (closing ??= closeAll()),
  }
}
