import { faults } from '../store/host.ts'
import { breakable } from './breakable.tsx'
import { Icon } from './icon.tsx'

/** The reasons of `/readyz` are sentences, and parts of such. */
function sentence(reason: string): string {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** On every page while the host is not in order. */
export function HealthBanner() {
  if (faults.value.length === 0) return null
  return (
    <section class="note banner" aria-label="Health">
      <Icon name="warning" />
      <div>
        <strong>The host is not in order.</strong> {breakable(faults.value.map(sentence).join(' '))}
      </div>
    </section>
  )
}
