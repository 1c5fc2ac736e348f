import { useState } from 'preact/hooks'
import { dateTimeOf } from '../base/words.ts'
import { leaveSafeMode, safeMode } from '../store/host.ts'
import { Icon } from './icon.tsx'

/** On every page while the host runs without plugins. */
export function SafeModeBanner() {
  const [leaving, setLeaving] = useState(false)
  const mode = safeMode.value
  if (mode === null) return null

  async function leave(): Promise<void> {
    setLeaving(true)
    await leaveSafeMode()
    setLeaving(false)
  }

  return (
    <section class="note banner" aria-label="Safe mode">
      <Icon name="warning" />
      <div>
        <strong>Safe mode: no plugin is loaded.</strong> {mode.reason}
        <small> Since {dateTimeOf(mode.since)}. Plugins can be looked at, set up and switched off.</small>
      </div>
      <button type="button" disabled={leaving} onClick={() => void leave()}>
        {leaving ? 'Starting the plugins…' : 'Leave safe mode'}
      </button>
    </section>
  )
}
