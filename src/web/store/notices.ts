import { signal } from '@preact/signals'
import { wordsOf } from '../base/api.ts'

/** What came of something that somebody did, for a moment. */

/** How long a notice stays, in milliseconds; a failure stays until it is closed. */
const showTime = 6_000

interface Notice {
  key: number
  text: string
  failed: boolean
}

export const notices = signal<readonly Notice[]>([])
let nextKey = 0

export function tell(text: string, failed = false): void {
  const notice = { key: (nextKey += 1), text, failed }
  // What is tried again and again fails with the same words each time.
  const others = notices.value.filter((other) => other.text !== text)
  notices.value = [...others, notice].slice(-3)
  if (!failed) setTimeout(() => closeNotice(notice.key), showTime)
}

export function tellFailure(error: unknown): void {
  tell(wordsOf(error), true)
}

/** What could not be done is done. */
export function closeFailure(words: string): void {
  notices.value = notices.value.filter(({ text, failed }) => !failed || text !== words)
}

export function closeNotice(key: number): void {
  notices.value = notices.value.filter((notice) => notice.key !== key)
}
