import { basename, dirname, join } from 'node:path'
import type { Logger } from '../log/log.ts'
import { messageOf } from '../problem.ts'
import type { FileSystem } from './file-system.ts'

/** What is damaged is kept under its name with this and the time behind it. */
const mark = '.damaged-'
/**
 * The time of what a host has put aside by itself: milliseconds since the Unix epoch. What `lupine repair` has left says it in another
 * form and may be the only one of its kind; other names are somebody's own.
 */
const ownTime = /^\d+$/

/**
 * Copies of one file that stay: the oldest, which may have what is in no other, and the newest, the last one with them. A bad disk
 * would be filled in years otherwise.
 */
const oldestKept = 1
const newestKept = 3

interface QuarantineParts {
  files: FileSystem
  logger: Logger
}

/** The name under which a damaged file is kept. `time`: when it was found damaged, milliseconds since the epoch or a text. */
export const quarantinedName = (name: string, time: string | number): string => `${name}${mark}${time}`

/** Renames a damaged file or folder, so that nobody reads it any more and nothing of it is lost. Answers where it is now. */
export async function quarantine(path: string, now: number, parts: QuarantineParts): Promise<string> {
  const kept = quarantinedName(path, now)
  await parts.files.rename(path, kept)
  await removeOldCopies(dirname(path), String(now), (name) => name === basename(path), parts)
  return kept
}

/**
 * Removes copies of the files that `isOf` names, where there are too many; those of one time go together, and those of `latest`
 * stay. What cannot be removed is tried again the next time. Never rejects.
 */
export async function removeOldCopies(
  directory: string,
  latest: string,
  isOf: (name: string) => boolean,
  { files, logger }: QuarantineParts,
): Promise<void> {
  try {
    const copies = (await files.readdir(directory)).flatMap((name) => {
      const place = name.lastIndexOf(mark)
      const time = name.slice(place + mark.length)
      const isOwn = place > 0 && ownTime.test(time) && isOf(name.slice(0, place))
      return isOwn && time !== latest ? [{ name, time }] : []
    })
    const times = [...new Set(copies.map(({ time }) => time))].sort((a, b) => Number(a) - Number(b))
    const tooMany = times.slice(oldestKept, Math.max(oldestKept, times.length - newestKept + 1))
    const removed = copies
      .filter(({ time }) => tooMany.includes(time))
      .map(({ name }) => join(directory, name))
    for (const path of removed) await files.rm(path, { recursive: true, force: true })
    if (removed.length > 0)
      logger.warn('Removed damaged copies: of those of one file the oldest and the three newest are kept', {
        removed,
      })
  } catch (error) {
    logger.warn('Damaged copies that are too many could not be removed', {
      directory,
      error: messageOf(error),
    })
  }
}
