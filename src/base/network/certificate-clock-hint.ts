/**
 * The time by this machine's clock, as the rest of a sentence, for a certificate that was refused as not valid yet or any more: it may
 * be the clock that is wrong, as that of a box without a battery is until it is told the time. `message`: what Node says; `now`:
 * milliseconds since 1970. Undefined: it was refused for something else.
 */
export function certificateClockHint(message: string, now: number): string | undefined {
  if (!/certificate (is not yet valid|has expired)/.test(message)) return undefined
  return `by the clock of this host it is ${new Date(now).toISOString()}`
}
