/**
 * Lets few begin in one turn of the event loop, so that whoever else has something to do is served in between. Resolves at
 * once where few have begun in this turn, else in one of the next, in the order of the calls.
 */
export type TurnLimiter = () => Promise<void>

/** `perTurn`: how many may begin in one turn. `afterTurn`: calls once the sockets have been looked at again. */
export function createTurnLimiter(
  perTurn: number,
  afterTurn: (callback: () => void) => unknown = setImmediate,
): TurnLimiter {
  const waiting: (() => void)[] = []
  let begun = 0

  function begin(): void {
    if (begun === 0) afterTurn(turn)
    begun += 1
  }

  function turn(): void {
    begun = 0
    for (const next of waiting.splice(0, perTurn)) {
      begin()
      next()
    }
  }

  return () => {
    if (begun >= perTurn) return new Promise((resolve) => waiting.push(resolve))
    begin()
    return Promise.resolve()
  }
}
