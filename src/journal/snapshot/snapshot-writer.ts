import { join } from 'node:path'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import {
  type FileSystem,
  replaceByTemporary,
  temporaryOf,
  writeTemporary,
} from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { messageOf } from '../../base/problem.ts'
import { storageFault } from '../../base/files/storage-fault.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import type { PluginState } from '../../schema/plugin/plugin.ts'
import type { HostState } from '../fold/evolve.ts'
import type { Journal } from '../journal.ts'
import { snapshotFileName, snapshotOf, withoutFold } from './snapshot.ts'
import { changeHostFile, noVault, type Vault } from '../vault.ts'

/** How long after a failure it is tried again, in milliseconds; doubles with each further failure. */
export const snapshotRetryDelay = 10_000
const longestDelay = 60_000
/** Milliseconds until what is only a cache is written: it has what happens until then, too. */
const cacheDelay = 1_000

export interface SnapshotWriter {
  /** The journal has all that a person has changed in the file: until then the file stays as it is, whoever flushes. */
  start(): void
  /**
   * Resolves when a snapshot that has the present state is on disk; at once, when it is only to help with the next start: then
   * it is written some time later, or by `close`. Never rejects: the journal has every
   * fact, so a snapshot that cannot be written is logged and tried again, at the next change or by itself.
   */
  flush(): Promise<void>
  /** As `flush`; rejects with what the disk says, which is logged and tried again all the same. */
  write(): Promise<void>
  /**
   * Runs a command, and flushes. While the disk takes the last fact of one that has no other beside it, the snapshot that has the fact is
   * written, too: then it only needs its name.
   */
  include<T>(command: () => Promise<T>): Promise<T>
  /** Why the last snapshot could not be written, until one could. */
  readonly failure: string | undefined
  /** Resolves when nothing is being written. */
  idle(): Promise<void>
  /** Tries no more by itself, and waits for what is under way. */
  close(): Promise<void>
}

/** States in which a command does not end. */
const passingStates: ReadonlySet<string> = new Set<PluginState>(['installing', 'loading', 'unloading'])

export function createSnapshotWriter(settings: {
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  /** The file as it was read. */
  kept: HostFile | undefined
  state: () => HostState
  /** Id of the event with this number. */
  eventId?: (seq: number) => string | undefined
  /** Tells which snapshot is going to be the next one; without it each is written when it is asked for. */
  onWriting?: Journal['onWriting'] | undefined
  /** The file is written anew some time after a refusal: so it is known when the disk takes something again. */
  refused?: Journal['refused']
  /** As in `openJournal`. */
  vault?: Vault
  /** Name of this host, where the fold does not say it. */
  hostId?: string
  /** What it says is kept elsewhere, and nobody waits for it. */
  isCache?: boolean
}): SnapshotWriter {
  const {
    directory,
    files,
    clock,
    logger,
    kept: found,
    state,
    eventId,
    onWriting,
    refused,
    vault = noVault,
    hostId,
    isCache = false,
  } = settings
  const path = join(directory, snapshotFileName)
  const kept = withoutFold(found)
  let writtenSeq = -1
  let failure: { reason: string; error: unknown } | undefined
  let running: Promise<void> = Promise.resolve()
  /** The one that begins when what runs is over. */
  let waiting: Promise<void> | undefined
  let retry: ScheduledCall | undefined
  let due: ScheduledCall | undefined
  let delay = snapshotRetryDelay
  let started = false
  let closed = false
  /** Commands that want a snapshot when they are done, and tasks that have not ended. */
  let commands = 0
  let tasks = 0
  /** Last event of the snapshot that lies beside the file, whole, and has not got its name. */
  let prepared: string | undefined
  const unfollow = onWriting?.(prepare)
  const stopListening = refused?.subscribe(() => {
    if (!started) return
    writtenSeq = -1
    tryLater()
  })

  /** One after the other. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    tasks += 1
    return (running = running.then(task).finally(() => (tasks -= 1)))
  }

  async function write(): Promise<void> {
    const current = state()
    if (current.seq === writtenSeq) return
    const event = eventId?.(current.seq)
    const isPrepared = event !== undefined && event === prepared
    prepared = undefined
    if (!isPrepared) await writeTemporary(files, path, contentOf(current, event), privateFileMode)
    await replaceByTemporary(files, path)
    writtenSeq = current.seq
    refused?.takenElsewhere()
  }

  function contentOf(current: HostState, event: string | undefined): string {
    const folded = snapshotOf(current, kept, event)
    const snapshot = hostId === undefined ? folded : { ...folded, host: { ...folded.host, id: hostId } }
    return `${JSON.stringify(changeHostFile(vault.seal, snapshot), null, 2)}\n`
  }

  /** What several commands want is written once, when it is known. */
  function prepare(last: JournalEvent, ahead: () => HostState): void {
    if (commands !== 1 || tasks > 0 || isCache || passingStates.has(last.state)) return
    const following = ahead()
    void enqueue(async () => {
      try {
        await writeTemporary(files, path, contentOf(following, last.id), privateFileMode)
        prepared = last.id
      } catch {
        // Whoever wants it tries again, and says why not.
        prepared = undefined
      }
    })
  }

  /** It would take room on a disk that may be full. */
  async function discard(): Promise<void> {
    if (prepared === undefined) return
    prepared = undefined
    await files.rm(temporaryOf(path), { force: true }).catch(() => undefined)
  }

  async function attempt(isRetry: boolean): Promise<void> {
    try {
      await write()
      if (failure !== undefined) logger.info('The snapshot could be written again', { path })
      failure = undefined
      delay = snapshotRetryDelay
      retry?.cancel()
      retry = undefined
    } catch (error) {
      failure = { reason: storageFault(error) ?? messageOf(error), error }
      const level = isRetry ? 'debug' : 'error'
      logger[level]('The snapshot could not be written; the journal still has everything', {
        path,
        error: messageOf(error),
      })
      tryLater()
    }
  }

  /** Nobody may change anything for a long time, and until then the host would say that it is not in order. */
  function tryLater(): void {
    if (closed || retry !== undefined) return
    retry = clock.schedule(delay, () => {
      retry = undefined
      delay = Math.min(2 * delay, longestDelay)
      void enqueue(() => attempt(true))
    })
  }

  function writeSoon(): Promise<void> {
    due ??= clock.schedule(cacheDelay, () => {
      due = undefined
      void writeNow()
    })
    return Promise.resolve()
  }

  function writeNow(): Promise<void> {
    if (!started) return Promise.resolve()
    // One that has not begun has the state of everybody who asks until it does.
    if (waiting !== undefined) return waiting
    waiting = enqueue(() => {
      waiting = undefined
      return attempt(false)
    })
    return waiting
  }

  const flush = (): Promise<void> => (isCache && !closed ? writeSoon() : writeNow())

  return {
    start() {
      started = true
    },
    flush,
    async write() {
      await flush()
      if (failure !== undefined) throw failure.error
    },
    async include(command) {
      commands += 1
      try {
        const result = await command().finally(() => (commands -= 1))
        await flush()
        return result
      } catch (error) {
        await enqueue(discard)
        throw error
      }
    },
    get failure() {
      return failure?.reason
    },
    idle: () => running,
    close() {
      closed = true
      unfollow?.()
      stopListening?.()
      retry?.cancel()
      retry = undefined
      if (due === undefined) return running
      due.cancel()
      due = undefined
      return writeNow()
    },
  }
}
