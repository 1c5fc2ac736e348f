import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import Type from 'typebox'
import { type FileSystem, temporaryOf, writeFileAtomically } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { messageOf } from '../../base/problem.ts'
import { createParser } from '../../schema/parsing/parser.ts'

/** The name of this process, and of the one before it in the same data directory: as states of leases have them. */
export interface ProcessName {
  readonly process: string
  readonly heirOf: string | null
}

/** In the data directory. */
export const processFileName = '.fleet-process'

/** Another one after each start of the machine, and nothing that is copied with a disk. Only Linux has it. */
const bootIdPath = '/proc/sys/kernel/random/boot_id'

const digits = '0123456789abcdefghijklmnopqrstuvwxyz'
const nameLength = 12

const parseNote = createParser(
  Type.Object({
    process: Type.String({ pattern: '^[0-9a-z]{1,32}$' }),
    boot: Type.String({ minLength: 1 }),
    device: Type.String(),
    inode: Type.String(),
  }),
)

/**
 * Gives this process a name and notes it in the data directory, which it has locked. The note says which file it is, by
 * device and inode, and during which run of the machine: a copy is another file, and a copied disk is another run.
 * So who finds a note that is true of itself follows a process that is dead. A note that cannot be written costs the next
 * process a wait, and nothing else.
 */
export async function nameProcess(
  files: FileSystem,
  directory: string,
  logger: Logger,
  bootId: () => Promise<string> = () => files.readFile(bootIdPath, 'utf8'),
): Promise<ProcessName> {
  const path = join(directory, processFileName)
  const process = Array.from({ length: nameLength }, () => digits[randomInt(digits.length)]).join('')
  const boot = await bootId().then(
    (text) => text.trim(),
    () => '',
  )
  const heirOf = await noted(files, path, boot)
  try {
    await writeFileAtomically(files, path, note(files, path, process, boot), privateFileMode)
  } catch (error) {
    // What stands there still is of a process that is dead as well.
    logger.warn('The name of this process could not be noted for the next one', { error: messageOf(error) })
  }
  return { process, heirOf }
}

async function* note(files: FileSystem, path: string, process: string, boot: string): AsyncGenerator<string> {
  // The file is open when its content is asked for, and keeps its inode under its later name.
  yield JSON.stringify({ process, boot, ...(await identityOf(files, temporaryOf(path))) })
}

async function identityOf(files: FileSystem, path: string): Promise<{ device: string; inode: string }> {
  const { dev, ino } = await files.stat(path, { bigint: true })
  return { device: `${dev}`, inode: `${ino}` }
}

async function noted(files: FileSystem, path: string, boot: string): Promise<string | null> {
  try {
    const parsed = parseNote(JSON.parse(await files.readFile(path, 'utf8')))
    if (!parsed.ok || parsed.value.boot !== boot) return null
    const { device, inode } = await identityOf(files, path)
    return parsed.value.device === device && parsed.value.inode === inode ? parsed.value.process : null
  } catch {
    return null
  }
}
