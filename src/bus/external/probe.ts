import type { Admission, Quarantine, Subject } from './quarantine.ts'

/** Messages that are new to the broker on this connection, and await one answer together. */
const groupLimit = 64

/**
 * Calls back when the broker has answered something that was sent after all that was sent before; not when the connection is lost
 * meanwhile.
 */
export type Ask = (done: () => void) => void

/** What is under way over one connection and not above suspicion, so that it is known whose fault it is when the connection ends. */
export interface Probe {
  /** Undefined: not before what is under way has been answered. `bytes`: of the packet. */
  admission(subject: Subject, bytes: number): Admission | undefined
  /** It is on its way, admitted like that. `isAcknowledged`: the broker answers it by itself, too. */
  sent(subject: Subject, bytes: number, admission: Admission, isAcknowledged?: boolean): void
  /** The broker has answered it by itself. */
  acknowledged(subject: Subject): void
  /** Has what was sent answered, if there is such a thing. */
  ask(): void
}

/** `goOn`: more may go. */
export function createProbe(quarantine: Quarantine, ask: Ask, goOn: () => void): Probe {
  let underWay: Subject[] = []
  let isAlone = false
  let isAsked = false
  let isAnswered = false
  /** A broker that looks up first whether a message may be sent answers what comes after it meanwhile. */
  const unacknowledged = new Set<Subject>()

  function finish(): void {
    if (!isAnswered || unacknowledged.size > 0) return
    quarantine.answered(underWay)
    underWay = []
    isAlone = false
    isAsked = false
    isAnswered = false
    goOn()
  }

  return {
    admission(subject, bytes) {
      if (isAlone) return undefined
      const admission = quarantine.isIdle ? 'free' : quarantine.admission(subject, bytes)
      if (admission === 'alone') return underWay.length === 0 ? admission : undefined
      // What is sent after the question is not covered by its answer.
      const isFull = isAsked || underWay.length >= groupLimit
      return admission === 'group' && isFull ? undefined : admission
    },
    sent(subject, bytes, admission, isAcknowledged = false) {
      if (admission === 'free') return
      if (isAcknowledged) unacknowledged.add(subject)
      underWay.push(subject)
      isAlone = admission === 'alone'
      quarantine.sent(subject, bytes)
    },
    acknowledged(subject) {
      if (unacknowledged.delete(subject)) finish()
    },
    ask() {
      if (isAsked || underWay.length === 0) return
      isAsked = true
      ask(() => {
        isAnswered = true
        finish()
      })
    },
  }
}
