import { randomBytes } from 'node:crypto'
import type { FileSystem } from '../base/files/file-system.ts'
import type { Logger } from '../base/log/log.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import { decideSafeMode, wasKilledForMemory } from '../lifecycle/supervision/safe-mode.ts'
import type { RetryOnDiskFull } from '../lifecycle/supervision/start-and-stop.ts'
import type { HostFile } from '../schema/journal/host-file.ts'
import type { Settings } from '../settings/settings.ts'
import { readSystemBoot } from './system-boot.ts'

/** What the journal says of the host's own start and end. */

/** The repository that comes with the program; relative to the data directory or else to the program. */
export const starterRepository = { name: 'starter', url: './repository' }

export interface StartFacts {
  id: string
  settings: Pick<Settings, 'safeMode'>
  hostVersion: string
  files: FileSystem
  journal: Journal
  lifecycle: RunningLifecycle
  /** `.host.json` as it was found. */
  file: HostFile | undefined
  retryOnDiskFull: RetryOnDiskFull
  logger: Logger
}

export function newHostId(): string {
  return randomBytes(6).toString('hex')
}

/** The id of a host that works by itself: as its settings say, its file, its history, or a new one. */
export function chooseHostId(
  { hostId }: Pick<Settings, 'hostId'>,
  { journal, file }: Pick<StartFacts, 'journal' | 'file'>,
): string {
  return hostId ?? file?.host?.id ?? journal.live.host.context.id ?? newHostId()
}

/** Writes down that the host has started, and how. */
export async function recordStart(start: StartFacts): Promise<void> {
  const { id, settings, hostVersion, files, journal, lifecycle, file, retryOnDiskFull, logger } = start
  const { seq } = journal.state
  const { lastReady } = journal.live.host.context
  const data = {
    host: id,
    hostVersion,
    ...(wasKilledForMemory(lastReady, await readSystemBoot(files)) ? { afterMemoryKill: true as const } : {}),
  }
  await retryOnDiskFull(() => lifecycle.record([{ type: 'HostStarted', plugin: null, data }], 'startup'))
  // Without the one that has just begun.
  const unfinishedStarts = journal.live.host.context.unfinishedStarts - 1
  const reason = decideSafeMode(settings.safeMode, unfinishedStarts)
  if (reason !== undefined) {
    const data = { reason, unfinishedStarts }
    await retryOnDiskFull(() =>
      lifecycle.record([{ type: 'HostSafeModeEntered', plugin: null, data }], 'startup'),
    )
    logger.warn('Safe mode: no plugin is loaded, but everything can be changed', {
      reason: lifecycle.safeMode?.reason,
    })
  }
  // No history and no file: a data directory that nobody has used yet.
  if (seq === 0 && file?.repositories === undefined) {
    await retryOnDiskFull(() =>
      lifecycle.record([{ type: 'RepositoryAdded', plugin: null, data: starterRepository }], 'startup'),
    )
  }
}

/** Writes down that everything answers. */
export async function recordReady({
  files,
  lifecycle,
  retryOnDiskFull,
}: Pick<StartFacts, 'files' | 'lifecycle' | 'retryOnDiskFull'>): Promise<void> {
  const machine = await readSystemBoot(files)
  const data = machine === undefined ? {} : { machine }
  await retryOnDiskFull(() => lifecycle.record([{ type: 'HostReady', plugin: null, data }], 'startup'))
}

/** The end of the host; one that cannot be written down is logged. */
export interface EndFacts {
  /** Only the first call counts. `failed`: the start came to nothing. */
  stopping(failed: boolean): Promise<void>
  /** The same. */
  stopped(): Promise<void>
  /**
   * Both, unless they were said: of a start that was written down, and that somebody has ended while it waited for room, or the
   * disk has refused.
   */
  interrupted(): Promise<void>
}

/** Of a host whose end is told otherwise. */
export const noEndFacts: EndFacts = {
  stopping: async () => undefined,
  stopped: async () => undefined,
  interrupted: async () => undefined,
}

/** To be made before the start is written down. */
export function createEndFacts({
  journal,
  lifecycle,
  logger,
}: Pick<StartFacts, 'journal' | 'lifecycle' | 'logger'>): EndFacts {
  const { seq } = journal.live
  let stopping: Promise<void> | undefined
  let stopped: Promise<void> | undefined
  async function record(fact: Parameters<RunningLifecycle['record']>[0][number]): Promise<void> {
    try {
      await lifecycle.record([fact], 'shutdown')
    } catch (error) {
      logger.error('The end of the host could not be written down', { error })
    }
  }
  const end: EndFacts = {
    stopping: (failed) =>
      (stopping ??= record({ type: 'HostStopping', plugin: null, data: failed ? { failed: true } : {} })),
    // Where the first of the two was refused that has been told, and the second means nothing.
    stopped: () =>
      (stopped ??=
        journal.live.host.value === 'stopping'
          ? record({ type: 'HostStopped', plugin: null, data: {} })
          : Promise.resolve()),
    async interrupted() {
      const { live } = journal
      if (live.seq === seq || live.host.value !== 'starting') return
      await end.stopping(false)
      await end.stopped()
    },
  }
  return end
}
