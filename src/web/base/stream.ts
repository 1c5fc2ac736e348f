import { batch, signal } from '@preact/signals'
import type { ExposedState, Exposure } from '../../schema/plugin/exposure.ts'
import { addressOf } from './address.ts'
import { needsToken, session } from './api.ts'
import { shareConnections, tellTabs } from './browser-tabs.ts'
import type { JournalEvent, LogEntry } from './types.ts'

/** The one stream of everything that the host announces. */

export type Announcement =
  | { kind: 'lifecycle'; plugin: string | null; event: JournalEvent }
  | { kind: 'log'; plugin: string; entry: LogEntry }
  /** `size`: characters as JSON. */
  | { kind: 'event'; plugin: string; name: string; data: unknown; size: number }
  | { kind: 'object'; plugin: string; path: string; value: unknown; removed: boolean }
  | { kind: 'sensor'; plugin: string; id: string; value: unknown; removed: boolean }
  | { kind: 'control'; plugin: string; id: string; value: unknown; removed: boolean }
  /** null: it is not exposed any more. */
  | { kind: 'exposure'; plugin: string; id: string; exposure: Exposure | null }
  | { kind: 'exposed'; plugin: string; id: string; state: ExposedState }

export type Connection = 'connecting' | 'connected' | 'disconnected'

/** How long announcements are collected before they are shown, in milliseconds. */
const collectTime = 100
/** So many are shown at once whatever the time: the work of one batch, and the memory it waits in, are bounded. */
const batchLimit = 500
/** Wait before another try when the browser has given up by itself, in milliseconds. */
const retryTime = 2_000
/**
 * After so long without a word, in milliseconds, a connection is taken for gone: the host says something every 15 s. Of one that was
 * forgotten on the way, as while a phone slept or changed its network, the browser may not hear for hours.
 */
const silenceLimit = 40_000
/**
 * The same while a connection is begun, as an answer begins at once: a browser begins it on one that it has kept, and after such a
 * break those are gone as well, one by one.
 */
const beginLimit = 15_000
/** How often that is looked at, in milliseconds. */
const lookInterval = 5_000

export const connection = signal<Connection>('connecting')
/** Counts the connections: who shows what is not resumed (logs, values) reads it again. */
export const connections = signal(0)

const listeners = new Set<(announcements: readonly Announcement[]) => void>()
let waiting: Announcement[] = []
let planned = false
let source: EventSource | undefined
let isGivenUp = false
let lastSeq: number | undefined
/** When the present connection was begun, or something came by it, in milliseconds since 1970: other clocks stand still in sleep. */
let heardAt = 0

/** When something was heard of the host last, in milliseconds since 1970. */
export function lastHeard(): number {
  return heardAt
}

/**
 * Listens to batches of announcements of some kinds, of one plugin where it is named; a batch is one change of the page, and
 * never empty. Returns the way to stop.
 */
export function onAnnouncements<Kind extends Announcement['kind']>(
  { kinds, plugin }: { kinds: readonly Kind[]; plugin?: string },
  listener: (announcements: readonly Extract<Announcement, { kind: Kind }>[]) => void,
): () => void {
  const isWanted = (one: Announcement): one is Extract<Announcement, { kind: Kind }> =>
    kinds.some((kind) => kind === one.kind) && (plugin === undefined || plugin === one.plugin)
  const hear = (announcements: readonly Announcement[]): void => {
    const wanted = announcements.filter(isWanted)
    if (wanted.length > 0) listener(wanted)
  }
  listeners.add(hear)
  return () => void listeners.delete(hear)
}

/** `after`: the last lifecycle event that is known already. */
export function openStream(after: number | undefined): void {
  lastSeq = after ?? lastSeq
  isGivenUp = false
  source?.close()
  const resumed = lastSeq === undefined ? '' : `&lastEventId=${lastSeq}`
  const opened = new EventSource(addressOf(`/api/events?beats=true${resumed}`))
  source = opened
  heardAt = Date.now()
  tellTabs(true)
  opened.addEventListener('beat', () => {
    heardAt = Date.now()
  })
  opened.addEventListener('open', () => {
    heardAt = Date.now()
    batch(() => {
      connection.value = 'connected'
      connections.value += 1
    })
  })
  opened.addEventListener('error', () => {
    connection.value = 'disconnected'
    // After an answer that is no stream the browser does not try again by itself.
    if (opened.readyState !== EventSource.CLOSED || opened !== source) return
    setTimeout(() => void tryAgain(opened), retryTime)
  })
  opened.addEventListener('lifecycle', ({ data }) => {
    const event = JSON.parse(String(data)) as JournalEvent
    lastSeq = event.seq
    collect({ kind: 'lifecycle', plugin: event.plugin, event })
  })
  opened.addEventListener('log', ({ data }) => {
    const { plugin, ...entry } = JSON.parse(String(data)) as LogEntry & { plugin: string }
    collect({ kind: 'log', plugin, entry })
  })
  for (const kind of ['event', 'object', 'sensor', 'control', 'exposure', 'exposed'] as const) {
    opened.addEventListener(kind, ({ data }) => {
      const text = String(data)
      collect({ kind, size: text.length, ...(JSON.parse(text) as object) } as Announcement)
    })
  }
}

/** Connects anew where nothing has come for too long. */
export function watchStream(): void {
  setInterval(() => {
    if (source === undefined || needsToken.peek()) return
    const silence = Date.now() - heardAt
    // A clock that was set back says nothing.
    if (silence < 0) heardAt = Date.now()
    if (silence <= (connection.peek() === 'connected' ? silenceLimit : beginLimit)) return
    connection.value = 'disconnected'
    openStream(undefined)
  }, lookInterval)
}

/** Leaves the connection to other tabs while nobody looks at this one. What is missed comes with the next stream. */
export function followTabs(): void {
  shareConnections({
    holds: () => source !== undefined,
    giveUp() {
      if (source === undefined) return
      source.close()
      source = undefined
      isGivenUp = true
      heardAt = Date.now()
      connection.value = 'connecting'
      tellTabs(false)
    },
    takeUp() {
      if (isGivenUp) openStream(undefined)
    },
  })
}

/** A stream does not say why it was refused: the login may have ended, as it does with the process that gave it. */
async function tryAgain(refused: EventSource): Promise<void> {
  const known = await session().catch(() => undefined)
  if (known?.required === true && !known.authenticated) needsToken.value = true
  if (refused === source && !needsToken.peek()) openStream(undefined)
}

function collect(announcement: Announcement): void {
  heardAt = Date.now()
  waiting.push(announcement)
  if (waiting.length >= batchLimit) tellListeners()
  else if (!planned) {
    planned = true
    setTimeout(() => {
      // In step with the frames: what comes of it is laid out once, and not in the middle of a scroll. A page in the
      // background has no frames.
      if (document.visibilityState === 'visible') requestAnimationFrame(tellListeners)
      else tellListeners()
    }, collectTime)
  }
}

function tellListeners(): void {
  planned = false
  if (waiting.length === 0) return
  const announcements = waiting
  waiting = []
  batch(() => {
    for (const listener of listeners) listener(announcements)
  })
}
