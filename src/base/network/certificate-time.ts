/**
 * What time this machine takes it to be, where a certificate was refused for its time alone: it may be the clock that is wrong, as
 * that of a box without a battery is until it is told the time. `message`: what Node says. Undefined: it was refused for
 * something else.
 */
export function clockInDoubt(message: string, now: number): string | undefined {
  if (!/certificate (is not yet valid|has expired)/.test(message)) return undefined
  return `by the clock of this host it is ${new Date(now).toISOString()}`
}
