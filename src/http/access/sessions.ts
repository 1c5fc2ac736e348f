import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'

/** How long a login lasts, in milliseconds: a week, so that a wall tablet asks once and a lost one not for ever. */
export const sessionLifetime = 7 * 24 * 60 * 60 * 1_000
/** Logins at a time; the oldest goes when one more comes. */
export const sessionsLimit = 100
/** Random bytes of a session's id: more than anybody can guess. */
const idBytes = 32

/** Logins of the user interface. They live as long as the process, and only as digests. */
export interface Sessions {
  /** Starts one; answers its id, which is not kept. */
  open(): string
  isOpen(id: string): boolean
  /** Does nothing for an id that is none. */
  end(id: string): void
}

export function createSessions(clock: Clock): Sessions {
  // Expiry (monotonic) by digest; oldest first. A look-up by digest tells nothing of the id by its duration.
  const expiries = new Map<string, number>()
  return {
    open() {
      const now = clock.monotonic()
      for (const [digest, expiry] of expiries) {
        if (expiry > now && expiries.size < sessionsLimit) break
        expiries.delete(digest)
      }
      const id = randomBytes(idBytes).toString('base64url')
      expiries.set(digestOf(id), now + sessionLifetime)
      return id
    },
    isOpen(id) {
      const expiry = expiries.get(digestOf(id))
      return expiry !== undefined && expiry > clock.monotonic()
    },
    end: (id) => void expiries.delete(digestOf(id)),
  }
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}
