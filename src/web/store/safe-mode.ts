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

export async function loadSafeMode(): Promise<void> {
  const { host } = await get<{ host: { safeMode: SafeMode | null } }>('/api/system')
  safeMode.value = host.safeMode
}

/** Follows what the journal says of it. */
export function followSafeMode(): void {
  onAnnouncements((announcements) => {
    const told = announcements.some(
      (announcement) => announcement.kind === 'lifecycle' && announcement.event.type.startsWith('Host'),
    )
    if (told) loadSafeMode().catch(tellFailure)
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
