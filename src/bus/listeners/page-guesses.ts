import type { IncomingMessage } from 'node:http'
import { createGuessLimit, type GuessLimit } from '../../base/network/guess-limit.ts'
import type { LogFields } from '../../base/log/log.ts'
import type { Clock } from '../../base/time/clock.ts'

/** What limits the guesses of one client. */
export type Guesses = Pick<GuessLimit, 'wait' | 'wrong'>

/** Whether a WebSocket was opened by a web page. Every browser says whose page it is, and the page cannot prevent that. */
export function isFromPage(request: IncomingMessage | undefined): boolean {
  return request?.headers.origin !== undefined
}

/**
 * Of web pages, counted apart from `guesses`: a page from anywhere may guess in the browser of whoever reads it, and would
 * have that address cut off, its owner included.
 */
export function createPageGuesses(settings: {
  guesses: Guesses
  clock: Clock
  warn: (message: string, fields: LogFields) => void
}): Guesses {
  const { guesses, clock, warn } = settings
  const pages = createGuessLimit({
    clock,
    warn: (_message, fields) =>
      warn(
        'Web pages at an address were cut off from the broker: too many wrong tokens came from them',
        fields,
      ),
  })
  return {
    wait: (address) => Math.max(guesses.wait(address), pages.wait(address)),
    wrong: pages.wrong,
  }
}
