import { createHash, randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import Type from 'typebox'
import { privateFileMode } from '../../base/files/private-files.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { createParser } from '../../schema/parsing/parser.ts'

/** `started` tells the process from a later one of the same number; empty where the system does not say. */
const parseHolder = createParser(Type.Object({ pid: Type.Integer({ minimum: 1 }), started: Type.String() }))

/** Each time round, somebody else removes the file of a process that has ended, or has just done so. */
const mostTries = 50

/**
 * A lock for systems without one of the kernel's within reach: a file that names the process that made it. One whose
 * process has ended counts for nothing. It cannot tell hosts in two containers apart that share the directory.
 * @returns what removes the file, or undefined when a living process has it
 */
export async function takeLockFile(path: string): Promise<(() => Promise<void>) | undefined> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    if (await createWhole(path)) return () => rm(path, { force: true })
    const found = await read(path)
    if (found?.isLiving === true) return undefined
    if (found !== undefined) await removeStale(path, found.content)
  }
  return undefined
}

/** Under its name the file has its content from the first moment: an empty one would look like a dead process's. */
async function createWhole(path: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`
  const content = JSON.stringify({ pid: process.pid, started: await startOf(process.pid) })
  await writeFile(temporary, content, { mode: privateFileMode })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
    return false
  } finally {
    await rm(temporary, { force: true })
  }
}

/** What the file says, and whether the process that made it is still there; undefined: there is no file. */
async function read(path: string): Promise<{ content: string; isLiving: boolean } | undefined> {
  try {
    const content = await readFile(path, 'utf8')
    const holder = parseHolder(jsonOf(content))
    const isLiving =
      holder.ok && isAlive(holder.value.pid) && (await startOf(holder.value.pid)) === holder.value.started
    return { content, isLiving }
  } catch (error) {
    return systemErrorCode(error) === 'ENOENT' ? undefined : { content: '', isLiving: false }
  }
}

/** Whoever removes a file with this content has this one, and nobody else removes it meanwhile. */
export function removalFile(path: string, content: string): string {
  return `${path}.removal-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`
}

/**
 * Removes the file of a process that has ended, once: who comes later finds another content there, or none, and leaves it. So a
 * file that somebody living has made in its place meanwhile stays.
 */
async function removeStale(path: string, content: string): Promise<void> {
  const guard = removalFile(path, content)
  if (!(await createWhole(guard))) {
    const other = await read(guard)
    // Its process was killed on the way.
    if (other?.isLiving === false) await removeStale(guard, other.content)
    return
  }
  try {
    const found = await read(path)
    if (found?.content === content && !found.isLiving) await rm(path, { force: true })
  } finally {
    await rm(guard, { force: true })
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, and somebody else's.
    return systemErrorCode(error) === 'EPERM'
  }
}

/** Linux tells in which boot and when in it a process began. */
async function startOf(pid: number): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const status = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name of the program comes second, in brackets, and may hold blanks; the start is the 22nd field.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return `${boot.trim()} ${fields[19] ?? ''}`
  } catch {
    return ''
  }
}
