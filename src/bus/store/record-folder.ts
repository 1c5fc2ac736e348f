import { arch, platform } from 'node:os'
import { join } from 'node:path'
import type { ClassicLevel } from 'classic-level'
import type { Clock } from '../../base/time/clock.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import { quarantine } from '../../base/files/quarantine.ts'
import type { Logger } from '../../base/log/log.ts'
import { makePrivateDirectory, takeRightsOfOthers } from '../../base/files/private-files.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import { storageFault } from '../../base/files/storage-fault.ts'

/**
 * A folder with records by key, in LevelDB (package `classic-level`). Why this one:
 *
 * - A batch is whole or not there at all, also after `kill -9`; a power cut costs what was not written through, nothing else.
 * - It checks what it reads, so a damaged folder is an error. LMDB maps its file into memory without checksums: one
 *   that was cut off ends the process. SQLite is in Node only from version 22 on.
 * - Its binaries come with the package, for all platforms in one. `aedes-persistence-level` is built upon it, too, but
 *   stores asynchronously and without bounds (see `broker-store.ts`).
 *
 * Where there is no binary, it throws `RecordsUnavailable`.
 */

/** Folder in the data directory. */
export const recordFolderName = '.broker'

/** The form of what is kept, under a key that no record has. */
const versionKey = 'version'
const version = '1'

/** Files that are open at a time. */
const openFilesLimit = 64
/** Records that are read at a time. */
const readAtOnce = 1_000

export interface RecordChange {
  key: string
  /** Absent: the record goes. */
  value?: Buffer
}

const versionRecord: RecordChange = { key: versionKey, value: Buffer.from(version) }

export interface Records {
  /**
   * All of them or, when it rejects or the process ends, none. `through`: they, and all before them, are on the disk then, and not only in
   * the memory of the system.
   */
  write(changes: RecordChange[], through: boolean): Promise<void>
  close(): Promise<void>
}

export interface RecordFolder {
  /** Whether there has ever been something to keep. */
  exists(): Promise<boolean>
  /**
   * Makes the folder if need be. With `take`, tells all that is in it, in the order of the keys. `anew`: there was nothing,
   * or not all of it could be read, so what should be there is to be written again. Rejects with what the system says.
   */
  open(take?: (key: string, value: Buffer) => void): Promise<{ records: Records; anew: boolean }>
}

/** There is no binary for this platform; another attempt is of no use. */
export class RecordsUnavailable extends Error {
  override readonly name = 'RecordsUnavailable'
}

/** Texts of the system within those of LevelDB, which has no codes of its own for them. */
const codes: readonly [text: string, code: string][] = [
  ['No space left on device', 'ENOSPC'],
  ['not enough space on the disk', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['File too large', 'EFBIG'],
  ['Read-only file system', 'EROFS'],
  ['Permission denied', 'EACCES'],
  ['Access is denied', 'EACCES'],
  ['Operation not permitted', 'EPERM'],
  ['Input/output error', 'EIO'],
  ['Too many open files in system', 'ENFILE'],
  ['Too many open files', 'EMFILE'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Resource temporarily unavailable', 'EAGAIN'],
  ['Interrupted system call', 'EINTR'],
  ['Device or resource busy', 'EBUSY'],
  ['No locks available', 'ENOLCK'],
  // A disk that was taken away, or the machine that it is on.
  ['Stale file handle', 'ESTALE'],
  ['No such device or address', 'ENXIO'],
  // Or a file system that maps no files into memory, by which LevelDB reads.
  ['No such device', 'ENODEV'],
  ['Connection timed out', 'ETIMEDOUT'],
  ['Transport endpoint is not connected', 'ENOTCONN'],
]

/** Not the disk: what is in the folder is not to be used. */
class Damage extends Error {}

/** As an error of the file system, or as damage. */
function translated(error: unknown): Error {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = systemErrorCode(cause)
  const message = messageOf(cause)
  if (code === 'LEVEL_LOCKED') return new Error(message, { cause: error })
  const known = code === 'LEVEL_IO_ERROR' ? codes.find(([text]) => message.includes(text)) : undefined
  // Any other is of a file that is not there, or too short.
  if (known !== undefined) return Object.assign(new Error(message, { cause: error }), { code: known[1] })
  if (cause instanceof Damage || (cause instanceof Error && storageFault(cause) !== undefined)) return cause
  return new Damage(message, { cause: error })
}

type Level = ClassicLevel<string, Buffer>
type LevelConstructor = typeof ClassicLevel<string, Buffer>

async function levelConstructor(): Promise<LevelConstructor> {
  try {
    return (await import('classic-level')).ClassicLevel
  } catch (error) {
    throw new RecordsUnavailable(
      `there is no binary of the package classic-level for ${platform()} on ${arch()}`,
      { cause: error },
    )
  }
}

async function readAll(level: Level, take: (key: string, value: Buffer) => void): Promise<void> {
  const iterator = level.iterator({ fillCache: false })
  try {
    for (let entries = await iterator.nextv(readAtOnce); entries.length > 0;) {
      for (const [key, value] of entries) if (key !== versionKey) take(key, value)
      entries = await iterator.nextv(readAtOnce)
    }
  } finally {
    await iterator.close()
  }
}

export function createRecordFolder(settings: {
  /** The data directory. */
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
}): RecordFolder {
  const { directory, files, clock, logger } = settings
  const path = join(directory, recordFolderName)
  /** Found while writing: the next attempt does not begin with it. */
  let damage: Damage | undefined

  async function openOnce(
    Level: LevelConstructor,
    take: ((key: string, value: Buffer) => void) | undefined,
  ): Promise<{ records: Records; anew: boolean }> {
    await makePrivateDirectory(files, path)
    const level: Level = new Level(path, {
      keyEncoding: 'utf8',
      valueEncoding: 'buffer',
      maxOpenFiles: openFilesLimit,
    })
    try {
      await level.open()
      const present = (await level.get(versionKey))?.toString()
      if (present === undefined) await level.put(versionKey, Buffer.from(version))
      else if (present !== version) throw new Damage(`it has the form ${JSON.stringify(present)}`)
      else if (take !== undefined) await readAll(level, take)
      return {
        records: { write: (changes, through) => write(level, changes, through), close: () => level.close() },
        anew: present === undefined,
      }
    } catch (error) {
      await level.close().catch(() => undefined)
      throw translated(error)
    }
  }

  async function write(level: Level, changes: RecordChange[], through: boolean): Promise<void> {
    try {
      // Without any change nothing would be written, so nothing would be brought to the disk.
      const all = changes.length > 0 ? changes : [versionRecord]
      await level.batch(
        all.map(({ key, value }) =>
          value === undefined ? { type: 'del', key } : { type: 'put', key, value },
        ),
        { sync: through },
      )
    } catch (error) {
      const reason = translated(error)
      if (reason instanceof Damage) damage = reason
      throw reason
    }
  }

  async function leave({ message }: Damage): Promise<void> {
    const kept = await quarantine(path, clock.now(), { files, logger })
    logger.error('What the broker had kept is damaged; it was put aside, and what is known is kept anew', {
      kept,
      error: message,
    })
  }

  return {
    async exists() {
      return await files.stat(path).then(
        () => true,
        (error: unknown) => systemErrorCode(error) !== 'ENOENT',
      )
    },
    async open(take) {
      const Level = await levelConstructor()
      await takeRightsOfOthers(files, logger, directory, (name) => name === recordFolderName)
      try {
        if (damage !== undefined) throw damage
        return await openOnce(Level, take)
      } catch (error) {
        if (!(error instanceof Damage)) throw error
        await leave(error)
        damage = undefined
        return await openOnce(Level, undefined)
      }
    },
  }
}
