import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import Type from 'typebox'
import { privateFileMode } from '../base/private-files.ts'
import { systemErrorCode } from '../base/problem.ts'
import { createParser } from '../schema/parser.ts'

/** `started` tells the process from a later one of the same number; empty where the system does not say. */
const parseHolder = createParser(Type.Object({ pid: Type.Integer({ minimum: 1 }), started: Type.String() }))

/** Each time round, somebody else has just removed the file of a process that has ended. */
const mostTries = 5

/**
 * A lock for systems without one of the kernel's within reach: a file that names the process that made it. One whose
 * process has ended counts for nothing. It cannot tell hosts in two containers apart that share the directory.
 * @returns what removes the file, or undefined when a living process has it
 */
export async function takeLockFile(path: string): Promise<(() => Promise<void>) | undefined> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    if (await createWhole(path)) return () => rm(path, { force: true })
    if ((await isHeld(path)) || !(await removeStale(path))) return undefined
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

async function isHeld(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const holder = parseHolder(jsonOf(text))
  if (!holder.ok) return false
  return isAlive(holder.value.pid) && (await startOf(holder.value.pid)) === holder.value.started
}

/** Two that find the same stale file: the second may have moved away the first one's new one, and puts it back. */
async function removeStale(path: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}.tmp`
  try {
    await rename(path, aside)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return true
    throw error
  }
  if (await isHeld(aside)) {
    await rename(aside, path)
    return false
  }
  await rm(aside, { force: true })
  return true
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
