import { computed, signal } from '@preact/signals'
import type { SafeMode, System } from '../../schema/api/system.ts'
import { get, send } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import { tell, tellFailure } from './notices.ts'

/** null in ordinary operation. */
export const safeMode = signal<SafeMode | null>(null)
/** The fleet that the host is one of, and its name there; null: it works by itself, undefined: not known yet. */
export const fleet = signal<{ name: string; host: string | null } | null | undefined>(undefined)
export const isInFleet = computed(() => (fleet.value ?? null) !== null)
/** What keeps the host from being in order, a sentence each. */
export const faults = signal<string[]>([])

/** Versions of the host: that of which this page is, and that which runs. */
export const versions = signal<{ page: string; host: string } | undefined>(undefined)

/** The host has the script of this page no more: it has been updated, and its version may be the same. */
export const isPageOld = signal(false)

/** Milliseconds from one look to the next, and while something is wrong: a full disk is in no journal. */
const lookInterval = 60_000
const shortLookInterval = 10_000
/** What `/readyz` says of every start and stop; the page shows those anyway. */
const passing: ReadonlySet<string> = new Set(['starting', 'stopping'])
let nextLook: ReturnType<typeof setTimeout> | undefined

/** Reads what concerns the host as a whole, now and from time to time. */
export async function loadHost(): Promise<void> {
  try {
    const { host, health, fleet: joined, versions: present } = await get<System>('/api/system')
    // The first answer is of the host that the page came from.
    const { page } = versions.peek() ?? { page: present.host }
    if (versions.peek()?.host !== present.host) versions.value = { page, host: present.host }
    safeMode.value = host.safeMode
    setFleet(joined === null ? null : { name: joined.name, host: host.id })
    faults.value = health.reasons.filter((reason) => !passing.has(reason))
  } finally {
    // One look that fails is not the last one.
    clearTimeout(nextLook)
    nextLook = setTimeout(lookAtHost, faults.peek().length > 0 ? shortLookInterval : lookInterval)
  }
}

/** The same where nobody has asked for it: whether the host can be reached is shown by the stream. */
export function lookAtHost(): void {
  loadHost().catch(() => undefined)
}

/** A host that was updated is another process, so it is enough to look with each connection. */
export async function lookAtPage(): Promise<void> {
  const answer = await fetch(import.meta.url, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined)
  // A proxy may say the same of a host that is not there.
  const isOfHost = answer?.headers.get('content-type')?.includes('problem+json') === true
  if (answer?.status === 404 && isOfHost) isPageOld.value = true
}

/** Whoever shows it is drawn anew only when it has changed. */
function setFleet(next: { name: string; host: string | null } | null): void {
  if (JSON.stringify(fleet.peek()) !== JSON.stringify(next)) fleet.value = next
}

/** Follows what the journal says of it. */
export function followHost(): void {
  onAnnouncements({ kinds: ['lifecycle'] }, (announcements) => {
    if (announcements.some(({ event }) => event.type.startsWith('Host'))) lookAtHost()
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
