/** The start was ended on request; all is closed in order. */
export class StartInterrupted extends Error {
  override readonly name = 'StartInterrupted'
}

/** Throws `StartInterrupted` once the start is to end. */
export function refuseWhenInterrupted(interrupt: AbortSignal | undefined): void {
  if (interrupt?.aborted === true) throw new StartInterrupted('The start was ended.')
}
