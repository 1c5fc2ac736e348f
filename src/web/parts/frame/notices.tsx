import { closeNotice, notices } from '../../store/notices.ts'
import { breakable } from '../breakable.tsx'

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ key, text, failed }) => (
        <p key={key} class={failed ? 'notice failed' : 'notice'}>
          <span>{breakable(text)}</span>
          <button type="button" class="quiet" onClick={() => closeNotice(key)} aria-label="Close this notice">
            ✕
          </button>
        </p>
      ))}
    </div>
  )
}
