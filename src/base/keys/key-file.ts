import { randomBytes } from 'node:crypto'
import {
  createFile,
  type FileSystem,
  replaceByTemporary,
  temporaryOf,
  writeTemporary,
} from '../files/file-system.ts'
import { privateFileMode, rightsOfOthers, takeRightsAdvice } from '../files/private-files.ts'
import { createKeyRing, keyBytes, keyId, type KeyRing } from './key-ring.ts'
import { messageOf, systemErrorCode } from '../problem.ts'

/**
 * The file of `HOST_SECRET_KEY_FILE`: a key a line, 32 bytes in hexadecimal or base64. The first one encrypts,
 * the others only decrypt. Empty lines and those that begin with # are skipped.
 */

/** Root may let a group read its file: so Kubernetes mounts secrets for a host that is another user. */
const groupReads = 0o040
/** Bytes that are read of it; more is no key file. */
const longest = 64 * 1024

/** The keys of the file. Throws one sentence that says what to do, without a word of the content. */
export async function readKeyFile(files: FileSystem, path: string): Promise<KeyRing> {
  const { text } = await readOwn(files, path)
  const keys = parseKeys(text)
  if (keys === undefined) throw notAKey(path)
  return createKeyRing(keys)
}

/** Puts a new key first; the file is made when it is not there. Answers the new key's name. */
export async function addKey(files: FileSystem, path: string): Promise<{ id: string; created: boolean }> {
  const key = randomBytes(keyBytes)
  const line = `${key.toString('hex')}\n`
  try {
    await createFile(files, path, line, privateFileMode)
    return { id: keyId(key), created: true }
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
  }
  const before = await readOwn(files, path)
  // Empty: it was made, and the power went before the key was in it.
  if (before.text !== '' && parseKeys(before.text) === undefined) throw notAKey(path)
  await writeTemporary(files, path, line + before.text, privateFileMode)
  await giveTo(files, temporaryOf(path), before)
  await replaceByTemporary(files, path)
  return { id: keyId(key), created: before.text === '' }
}

function notAKey(path: string): Error {
  return new Error(
    `${path} does not hold a key of ${keyBytes} bytes in hexadecimal or base64 on each line: "lupine secret-key" makes one.`,
  )
}

/**
 * What root writes would be root's alone: the host, which is another user, or reads it by its group, could not read its
 * keys any more.
 */
async function giveTo(
  files: FileSystem,
  path: string,
  { uid, gid, mode }: { uid: number; gid: number; mode: number },
): Promise<void> {
  const handle = await files.open(path, 'r+')
  try {
    const own = await handle.stat()
    const wanted = privateFileMode | (mode & groupReads)
    if (own.uid === uid && own.gid === gid && (own.mode & 0o777) === wanted) return
    await handle.chown(uid, gid)
    await handle.chmod(wanted)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function readOwn(
  files: FileSystem,
  path: string,
): Promise<{ text: string; mode: number; uid: number; gid: number }> {
  const handle = await files.open(path, 'r')
  try {
    const stats = await handle.stat()
    const { mode, size, uid, gid } = stats
    if (stats.isDirectory()) {
      throw new Error(`${path} is a folder; it must be a file with a key, which "lupine secret-key" makes.`)
    }
    if ((mode & rightsOfOthers & ~(uid === 0 ? groupReads : 0)) !== 0) {
      const rights = (mode & 0o777).toString(8).padStart(4, '0')
      throw new Error(`${path} can be used by others (mode ${rights}): ${takeRightsAdvice(path)}.`)
    }
    if (size > longest) throw new Error(`${path} is too large for a key file.`)
    return { text: await handle.readFile('utf8'), mode, uid, gid }
  } finally {
    await handle.close()
  }
}

/** undefined: not one line is a key, or one is not. */
export function parseKeys(text: string): Uint8Array[] | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const keys = lines.map(parseKey)
  return keys.length > 0 && keys.every((key) => key !== undefined) ? keys : undefined
}

function parseKey(line: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(line)) return Buffer.from(line, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(line)) return undefined
  const key = Buffer.from(line, 'base64')
  return key.length === keyBytes ? key : undefined
}

/** Why the file cannot be used, as one sentence for the person who starts the host. */
export function keyFileFault(error: unknown): string {
  const advice =
    systemErrorCode(error) === undefined
      ? ''
      : '. Correct the path or its permissions; "lupine secret-key" makes such a file.'
  return `HOST_SECRET_KEY_FILE cannot be used: ${messageOf(error)}${advice}`
}
