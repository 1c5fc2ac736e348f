import { type Clock, type ScheduledCall, scheduleDeadline } from '../../base/time/clock.ts'
import { SourceError } from './source.ts'

/**
 * Reads from folders of repositories. Such a folder may be on another machine, which is off by now: then the system ends
 * nothing of what it is asked there, and each call keeps one of Node's four threads, on which the journal is written, too. So
 * of a folder one thing is asked at a time, of all together few, and nobody waits for ever. Rejects with `SourceError` when the
 * folder does not answer in time, and at once as long as it has not answered since.
 */
export type ReadFolder = <T>(folder: string, read: () => Promise<T>) => Promise<T>

/** Folders that are read at the same time: the half of Node's threads. */
const foldersAtOnce = 2

interface Waiting {
  folder: string
  start(): void
  refuse(error: SourceError): void
}

/** `time`: milliseconds for one read. */
export function createFolderReads({ clock, time }: { clock: Clock; time: number }): ReadFolder {
  const waiting = new Set<Waiting>()
  const reading = new Set<string>()
  /** Those of `reading` that have not answered in time. */
  const late = new Set<string>()

  const notInTime = (): SourceError =>
    new SourceError(
      `the folder has not answered within ${time / 1000} s; see to it that the machine or the disk is there that it is on`,
    )

  function lateness(folder: string): SourceError | undefined {
    if (late.has(folder)) return notInTime()
    if (late.size < foldersAtOnce) return undefined
    return new SourceError(`other folders have to answer first: ${[...late].join(', ')}; see to those`)
  }

  function goOn(): void {
    for (const one of waiting) {
      const error = lateness(one.folder)
      if (error !== undefined) {
        waiting.delete(one)
        one.refuse(error)
      } else if (!reading.has(one.folder) && reading.size < foldersAtOnce) {
        waiting.delete(one)
        one.start()
      }
    }
  }

  async function whenRead<T>(folder: string, read: () => Promise<T>, deadline: ScheduledCall): Promise<T> {
    reading.add(folder)
    try {
      return await read()
    } finally {
      deadline.cancel()
      reading.delete(folder)
      late.delete(folder)
      goOn()
    }
  }

  return (folder, read) =>
    new Promise((resolve, refuse) => {
      const start = (): void => {
        const deadline = scheduleDeadline(clock, time, () => {
          late.add(folder)
          refuse(notInTime())
          goOn()
        })
        whenRead(folder, read, deadline).then(resolve, refuse)
      }
      waiting.add({ folder, start, refuse })
      goOn()
    })
}
