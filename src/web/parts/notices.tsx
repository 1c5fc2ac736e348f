import { signal } from '@preact/signals'
import { wordsOf } from '../base/api.ts'
import { breakable } from './breakable.tsx'

/** What came of something that somebody did, for a moment. */

/** How long a notice stays, in milliseconds; a failure stays until it is closed. */
const showTime = 6_000

interface Notice {
  key: number
  text: string
  failed: boolean
}

const notices = signal<readonly Notice[]>([])
let nextKey = 0

export function tell(text: string, options: { failed?: boolean } = {}): void {
  const notice = { key: (nextKey += 1), text, failed: options.failed === true }
  notices.value = [...notices.value, notice].slice(-3)
  if (!notice.failed) setTimeout(() => close(notice.key), showTime)
}

export function tellFailure(error: unknown): void {
  tell(wordsOf(error), { failed: true })
}

function close(key: number): void {
  notices.value = notices.value.filter((notice) => notice.key !== key)
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ key, text, failed }) => (
        <p key={key} class={failed ? 'notice failed' : 'notice'}>
          <span>{breakable(text)}</span>
          <button type="button" class="quiet" onClick={() => close(key)} aria-label="Close this notice">
            ✕
          </button>
        </p>
      ))}
    </div>
  )
}
