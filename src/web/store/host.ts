import { signal } from '@preact/signals'
import { get, send } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import { tell, tellFailure } from '../parts/notices.tsx'

/** Why no plugin is loaded, and since when (ISO 8601). */
export interface SafeMode {
  since: string
  reason: string
}

/** null in ordinary operation. */
export const safeMode = signal<SafeMode | null>(null)
/** What keeps the host from being in order, a sentence each. */
export const faults = signal<string[]>([])

/** Milliseconds from one look to the next, and while something is wrong: a full disk is in no journal. */
const lookInterval = 60_000
const shortLookInterval = 10_000
/** What `/readyz` says of every start and stop; the page shows those anyway. */
const passing: ReadonlySet<string> = new Set(['starting', 'stopping'])
let nextLook: ReturnType<typeof setTimeout> | undefined

interface System {
  host: { safeMode: SafeMode | null }
  health: { reasons: string[] }
}

/** Reads what concerns the host as a whole, now and from time to time. */
export async function loadHost(): Promise<void> {
  const { host, health } = await get<System>('/api/system')
  safeMode.value = host.safeMode
  faults.value = health.reasons.filter((reason) => !passing.has(reason))
  clearTimeout(nextLook)
  const interval = faults.value.length > 0 ? shortLookInterval : lookInterval
  // Whether the host can be reached is shown by the stream.
  nextLook = setTimeout(() => void loadHost().catch(() => undefined), interval)
}

/** Follows what the journal says of it. */
export function followHost(): void {
  onAnnouncements((announcements) => {
    const told = announcements.some(
      (announcement) => announcement.kind === 'lifecycle' && announcement.event.type.startsWith('Host'),
    )
    if (told) loadHost().catch(tellFailure)
  })
}

/** Loads every plugin that is switched on. */
export async function leaveSafeMode(): Promise<void> {
  try {
    const answer = await send<{ safeMode: SafeMode | null }>('POST', '/api/system/safe-mode', {
      enabled: false,
    })
    safeMode.value = answer.safeMode
    tell('The host has left safe mode; its plugins are started.')
  } catch (error) {
    tellFailure(error)
  }
}
