import { join } from 'node:path'
import type { Clock, ScheduledCall } from '../base/clock.ts'
import { type FileSystem, writeFileAtomically } from '../base/file-system.ts'
import type { Logger } from '../base/log.ts'
import { privateFileMode } from '../base/private-files.ts'
import { messageOf } from '../base/problem.ts'
import { storageFault } from '../base/storage-fault.ts'
import type { HostFile } from '../schema/host-file.ts'
import type { HostState } from './evolve.ts'
import { snapshotFileName, snapshotOf } from './snapshot.ts'
import { changeHostFile, noVault, type Vault } from './vault.ts'

/** How long after a failure it is tried again, in milliseconds; doubles with each further failure. */
export const snapshotRetryDelay = 10_000
const longestDelay = 60_000
/** Milliseconds until what is only a cache is written: it has what happens until then, too. */
const cacheDelay = 1_000

export interface SnapshotWriter {
  /**
   * Resolves when a snapshot that has the present state is on disk; at once, when it is only to help with the next start: then
   * it is written some time later, or by `close`. Never rejects: the journal has every
   * fact, so a snapshot that cannot be written is logged and tried again, at the next change or by itself.
   */
  flush(): Promise<void>
  /** Why the last snapshot could not be written, until one could. */
  readonly failure: string | undefined
  /** Resolves when nothing is being written. */
  idle(): Promise<void>
  /** Tries no more by itself, and waits for what is under way. */
  close(): Promise<void>
}

export function createSnapshotWriter(settings: {
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  kept: HostFile | undefined
  state: () => HostState
  /** Id of the event with this number. */
  eventId?: (seq: number) => string | undefined
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
    kept,
    state,
    eventId,
    vault = noVault,
    hostId,
    isCache = false,
  } = settings
  const path = join(directory, snapshotFileName)
  let writtenSeq = -1
  let failure: string | undefined
  let running: Promise<void> = Promise.resolve()
  /** The one that begins when what runs is over. */
  let waiting: Promise<void> | undefined
  let retry: ScheduledCall | undefined
  let due: ScheduledCall | undefined
  let delay = snapshotRetryDelay
  let closed = false

  async function write(): Promise<void> {
    const current = state()
    if (current.seq === writtenSeq) return
    const folded = snapshotOf(current, kept, eventId?.(current.seq))
    const snapshot = hostId === undefined ? folded : { ...folded, host: { ...folded.host, id: hostId } }
    const content = `${JSON.stringify(changeHostFile(vault, 'seal', snapshot), null, 2)}\n`
    await writeFileAtomically(files, path, content, privateFileMode)
    writtenSeq = current.seq
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
      failure = storageFault(error) ?? messageOf(error)
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
      running = running.then(() => attempt(true))
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
    // One that has not begun has the state of everybody who asks until it does.
    if (waiting !== undefined) return waiting
    waiting = running.then(() => {
      waiting = undefined
      return attempt(false)
    })
    return (running = waiting)
  }

  return {
    flush: () => (isCache && !closed ? writeSoon() : writeNow()),
    get failure() {
      return failure
    },
    idle: () => running,
    close() {
      closed = true
      retry?.cancel()
      retry = undefined
      if (due === undefined) return running
      due.cancel()
      due = undefined
      return writeNow()
    },
  }
}
