import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { FileSystem } from '../base/file-system.ts'
import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { storageFault } from '../base/storage-fault.ts'
import { type Fact, type JournalEvent, journalFormatVersion, type Origin } from '../schema/journal-event.ts'
import { parseStoredEvent } from '../schema/stored-event.ts'
import { withBoundedTexts } from './bounded-texts.ts'
import { createCheckpoints } from './checkpoints.ts'
import { applyFact, fold, foldEvent, type HostState, initialState, type PluginSnapshot } from './evolve.ts'
import { bytesAtOnce, openJournalFile } from './journal-file.ts'
import { decodeLine, encodeLine } from './journal-line.ts'
import { createNumberList, type NumberList } from './number-list.ts'
import { type Upcasters, upcast, upcasters } from './upcast.ts'
import { changeEvent, noVault, type Vault } from './vault.ts'

/** Name of the journal in the data directory. */
export const journalFileName = '.host.journal'

/** How many request keys are remembered across a restart. */
const rememberedRequests = 1_000

export interface Journal {
  /** Fold of all that is on disk. */
  readonly state: HostState
  /**
   * Writes facts down, all of one call or none; resolves when they are on disk and `state` has them. Rejects
   * with `invalid_transition` when a machine refuses one, with `storage_full` when the disk does.
   */
  append(facts: readonly Fact[], by: Origin, requestKey?: string): Promise<JournalEvent[]>
  /**
   * Events after `after`, oldest first; of one plugin, or all. Fewer than there are when they are large (some
   * megabytes together), but one at least: read on after the last one until there is none.
   */
  read(filter: { plugin?: string; after?: number; limit: number }): JournalEvent[]
  /** The plugin's latest event. */
  last(plugin: string): JournalEvent | undefined
  /** State right after the event with this number; 0 is before the first. */
  stateAt(seq: number): HostState
  /** The plugin that a remembered request was about. */
  recallRequest(requestKey: string): string | undefined
  /** Hears of every event once it is on disk, in order. */
  subscribe(listener: (event: JournalEvent) => void): () => void
  /** Waits for what is being written. */
  close(): Promise<void>
}

export interface JournalSettings {
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  /** Number of the last event that the snapshot has seen: a line up to there was acknowledged. */
  acknowledged?: number
  upcasters?: Upcasters
  /** Encrypts what is secret; default: nothing is. */
  vault?: Vault
}

interface PendingAppend {
  facts: readonly Fact[]
  by: Origin
  requestKey: string | undefined
  resolve(events: JournalEvent[]): void
  reject(error: unknown): void
}

/** Opens the journal and folds it. Throws `DamagedJournalError` at what it cannot believe. */
export async function openJournal(settings: JournalSettings): Promise<Journal> {
  const { clock, files, logger } = settings
  const lift = settings.upcasters ?? upcasters
  const vault = settings.vault ?? noVault
  const bySubject = new Map<string, NumberList>()
  const requests = new Map<string, string>()
  const checkpoints = createCheckpoints()
  const listeners = new Set<(event: JournalEvent) => void>()
  const draft = new Map<string, PluginSnapshot>()
  let state: HostState = { ...initialState(), plugins: draft }

  function index(event: JournalEvent): void {
    if (event.plugin !== null) {
      const numbers = bySubject.get(event.plugin) ?? createNumberList(4)
      if (numbers.length === 0) bySubject.set(event.plugin, numbers)
      numbers.push(event.seq)
      if (event.requestKey !== undefined) remember(event.requestKey, event.plugin)
    }
    checkpoints.note(state)
  }

  function remember(requestKey: string, plugin: string): void {
    requests.delete(requestKey)
    requests.set(requestKey, plugin)
    const [oldest] = requests.keys()
    if (requests.size > rememberedRequests && oldest !== undefined) requests.delete(oldest)
  }

  const path = join(settings.directory, journalFileName)
  const file = await openJournalFile(
    files,
    path,
    (line) => {
      const event = parseLine(line, lift, vault)
      state = foldEvent(state, event, draft)
      index(event)
    },
    {
      acknowledged: settings.acknowledged ?? 0,
      onTorn: (text) =>
        logger.warn('Cut off an incomplete last line of the journal, left by a crash', {
          path,
          bytes: text.length,
        }),
    },
  )

  let queue: PendingAppend[] = []
  let writing: Promise<void> | undefined
  let closed = false

  /** Everything that waits goes to disk in one write: a group commit. */
  async function writeQueue(): Promise<void> {
    while (queue.length > 0) {
      const pending = queue
      queue = []
      await writeGroup(pending)
    }
    writing = undefined
  }

  async function writeGroup(pending: PendingAppend[]): Promise<void> {
    const accepted: { append: PendingAppend; events: JournalEvent[] }[] = []
    let next: HostState = { ...state, plugins: new Map(state.plugins) }
    for (const append of pending) {
      const attempt = tryToStamp(append, next)
      if ('refused' in attempt) {
        append.reject(new Problem('invalid_transition', attempt.refused))
        continue
      }
      next = attempt.state
      accepted.push({ append, events: attempt.events })
    }
    if (accepted.length === 0) return
    try {
      const lines = accepted.flatMap(({ events }) =>
        events.map((event) => encodeLine(changeEvent(vault, 'seal', asStored(event)))),
      )
      await file.append(lines)
    } catch (error) {
      logger.error('The journal could not be written; the change was refused', {
        path,
        error: messageOf(error),
      })
      const advice = storageFault(error) ?? 'Make room in the data directory and try again.'
      const problem = new Problem(
        'storage_full',
        `The journal could not be written (${messageOf(error)}), so nothing was changed. ${advice}`,
        { cause: error },
      )
      for (const { append } of accepted) append.reject(problem)
      return
    }
    // Event by event, so that whoever listens never sees a state that is ahead of the event.
    const plugins = new Map(state.plugins)
    for (const { append, events } of accepted) {
      for (const event of events) {
        state = foldEvent({ ...state, plugins }, event, plugins)
        index(event)
        for (const listener of listeners) listener(event)
      }
      append.resolve(events)
    }
  }

  /** A fact that cannot be written as JSON (nested beyond the stack, say) must not keep the others from disk. */
  function tryToStamp(append: PendingAppend, from: HostState): ReturnType<typeof stamp> {
    try {
      return stamp(append, from)
    } catch (error) {
      return { refused: `The change cannot be written down: ${messageOf(error)}.` }
    }
  }

  /** Numbers the facts of one append on top of `from`; none of them when the machine refuses one. */
  function stamp(
    { facts, by, requestKey }: PendingAppend,
    from: HostState,
  ): { state: HostState; events: JournalEvent[] } | { refused: string } {
    const at = new Date(clock.now()).toISOString()
    const plugins = new Map(from.plugins)
    const events: JournalEvent[] = []
    let current = from
    for (const given of facts) {
      // As it will be read back: what JSON cannot say must not be in the live state either.
      const fact = withBoundedTexts(JSON.parse(JSON.stringify(given)) as Fact)
      const applied = applyFact(current, fact, at, plugins)
      if (applied === undefined) {
        return {
          refused: `${fact.type} is not possible now${fact.plugin === null ? '' : ` for ${fact.plugin}`}.`,
        }
      }
      current = applied.state
      events.push({
        seq: current.seq,
        id: randomUUID(),
        at,
        ...fact,
        revision: applied.revision,
        by,
        state: applied.value,
        ...(requestKey === undefined ? {} : { requestKey }),
      })
    }
    return { state: current, events }
  }

  /** Of large ones fewer, as the file reads them. */
  function readEvents(first: number, last: number): JournalEvent[] {
    return file.read(first, last).map((line) => parseLine(line, lift, vault))
  }

  return {
    get state() {
      return state
    },
    append(facts, by, requestKey) {
      if (closed)
        return Promise.reject(
          new Problem('shutting_down', 'The host is shutting down; try again when it is back.'),
        )
      return new Promise<JournalEvent[]>((resolve, reject) => {
        queue.push({ facts, by, requestKey, resolve, reject })
        writing ??= writeQueue()
      })
    },
    read({ plugin, after = 0, limit }) {
      if (plugin !== undefined) {
        const numbers = bySubject.get(plugin)
        const events: JournalEvent[] = []
        let bytes = 0
        for (let position = numbers?.firstAbove(after) ?? 0; events.length < limit; position += 1) {
          const seq = numbers?.at(position)
          if (seq === undefined) break
          bytes += file.size(seq)
          if (bytes > bytesAtOnce && events.length > 0) break
          events.push(...readEvents(seq, seq))
        }
        return events
      }
      const first = Math.max(0, after) + 1
      return readEvents(first, Math.min(state.seq, first + limit - 1))
    },
    last(plugin) {
      const numbers = bySubject.get(plugin)
      const seq = numbers?.at(numbers.length - 1)
      return seq === undefined ? undefined : readEvents(seq, seq)[0]
    },
    stateAt(seq) {
      if (!Number.isInteger(seq) || seq < 0 || seq > state.seq) {
        throw new Problem('not_found', `The journal has the events 0 to ${state.seq}; there is no ${seq}.`)
      }
      // The one that is asked for most: nothing is read for it.
      if (seq === state.seq) return { ...state, plugins: new Map(state.plugins) }
      let found = checkpoints.before(seq)
      while (found.seq < seq) found = fold(readEvents(found.seq + 1, seq), found)
      return found
    },
    recallRequest: (requestKey) => requests.get(requestKey),
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      closed = true
      await writing
      await file.close()
    },
  }
}

/** Events are made of what JSON says: `stamp` has seen to that. */
function asStored(event: JournalEvent): JsonObject {
  return { version: journalFormatVersion, ...event } as unknown as JsonObject
}

function parseLine(line: Uint8Array, lift: Upcasters, vault: Vault): JournalEvent {
  const decoded = decodeLine(line)
  if (!decoded.ok) throw new Error(decoded.reason)
  const parsed = parseStoredEvent(upcast(changeEvent(vault, 'open', decoded.value), lift))
  if (!parsed.ok) throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '))
  const { version: _version, ...event } = parsed.value
  return withBoundedTexts(event)
}
