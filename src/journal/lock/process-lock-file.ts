import { randomUUID } from 'node:crypto'
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
    if ((await holderOf(path)) === 'living' || !(await removeStale(path))) return undefined
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

/** What has become of the process that made the file; undefined: there is no file. */
async function holderOf(path: string): Promise<'living' | 'ended' | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    return systemErrorCode(error) === 'ENOENT' ? undefined : 'ended'
  }
  const holder = parseHolder(jsonOf(text))
  if (!holder.ok || !isAlive(holder.value.pid)) return 'ended'
  return (await startOf(holder.value.pid)) === holder.value.started ? 'living' : 'ended'
}

/**
 * Removes the file, unless somebody living has it by now. One at a time does that, and looks again: another could have taken
 * the place of the file that was looked at before, and would lose it.
 */
async function removeStale(path: string): Promise<boolean> {
  const guard = `${path}.removal`
  if (!(await createWhole(guard))) {
    // It was there, and its process has ended between these few lines. One that has just gone may be another's by now.
    if ((await holderOf(guard)) === 'ended') await rm(guard, { force: true })
    return true
  }
  try {
    if ((await holderOf(path)) === 'living') return false
    await rm(path, { force: true })
    return true
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
