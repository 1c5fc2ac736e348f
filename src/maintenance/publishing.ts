import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Clock } from '../base/time/clock.ts'
import { createFile, type FileSystem, writeFileAtomically } from '../base/files/file-system.ts'
import { privateFileMode, rightsOfOthers, takeRightsAdvice } from '../base/files/private-files.ts'
import { unwritableError } from '../base/files/storage-fault.ts'
import { hasGenuineComment, parseMinisign, signingTime } from '../base/keys/minisign.ts'
import {
  makeSecretKey,
  type MinisignSecretKey,
  parseSecretKey,
  signMinisign,
} from '../base/keys/minisign-secret-key.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { defaultRepositoryLimits } from '../repository/limits.ts'
import { indexFile, signatureFile } from '../schema/manifest/repository-index.ts'
import { fillInIndex } from './fill-in-index.ts'

/** The commands of those who publish plugins. Each answers what to tell its user, and throws one sentence. */

/** What is published is for everybody to read. */
const publicFileMode = 0o644
/** Bytes; a key has a few hundred. */
const longestKeyFile = 64 * 1024

/** Makes a secret key, in a file that is not there yet. */
export async function makeSigningKey(files: FileSystem, file: string): Promise<string> {
  const path = resolve(file)
  const { key, text } = makeSecretKey()
  try {
    await createFile(files, path, text, privateFileMode)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === 'EEXIST') {
      throw new Error(`${file} is there already and stays as it is; name another file for a new key.`)
    }
    throw unwritableError(file, error)
  }
  return (
    `Made ${file} with the key ${key.public.id}. It has no password: keep it, and a copy, where nobody else reads it.\n` +
    `Sign with:  lupine sign FOLDER --key ${file}\n` +
    `Public key, for those who add the repository:\n${key.public.text}\n`
  )
}

export interface SigningOptions {
  folder: string
  /** Undefined: minisign's own place. */
  keyFile: string | undefined
  hashesOnly: boolean
  files: FileSystem
  clock: Clock
}

/** Fills in what the index says of the files, and signs it. */
export async function signRepository(options: SigningOptions): Promise<string> {
  const { keyFile, hashesOnly, files, clock } = options
  // As minisign is given it, and as the address of a repository may name it.
  const folder = basename(options.folder) === indexFile ? dirname(options.folder) : options.folder
  const root = resolve(folder)
  // Read first: without a key nothing is changed.
  const key = hashesOnly
    ? undefined
    : await readSecretKey(files, keyFile ?? join(homedir(), '.minisign', 'minisign.key'))
  const { content, isNew, plugins } = await fillInIndex(root)
  if (isNew) await write(files, join(root, indexFile), content)
  const hashes = `The hashes of ${plugins} ${plugins === 1 ? 'plugin' : 'plugins'} are ${isNew ? 'filled in' : 'right'}`
  if (key === undefined) {
    return `${hashes}. Sign the index now: minisign -Sm ${join(folder, indexFile)}\n`
  }
  const seconds = await nextSigningTime(files, root, key, clock)
  await write(files, join(root, signatureFile), signMinisign(content, indexFile, seconds, key))
  return (
    `${hashes}, and ${join(folder, indexFile)} is signed with the key ${key.public.id}.\n` +
    `Publish ${signatureFile} beside it. Public key: ${key.public.text}\n`
  )
}

async function readSecretKey(files: FileSystem, file: string): Promise<MinisignSecretKey> {
  const path = resolve(file)
  let text: string
  try {
    const handle = await files.open(path, 'r')
    try {
      const { mode, size } = await handle.stat()
      if ((mode & rightsOfOthers) !== 0) {
        throw new Error(`${file} can be used by others; ${takeRightsAdvice(file)}.`)
      }
      if (size > longestKeyFile) throw new Error(`${file} is too large for a key.`)
      text = await handle.readFile('utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === undefined) throw error
    if (code !== 'ENOENT') throw new Error(`${file} cannot be read (${code}).`, { cause: error })
    throw new Error(`There is no key at ${file}; name one with --key, or make one with "lupine keygen".`, {
      cause: error,
    })
  }
  try {
    return parseSecretKey(text)
  } catch (error) {
    throw new Error(`${file} ${messageOf(error)}.`, { cause: error })
  }
}

/** Later than the signature that is there: hosts refuse one that is older, also when a clock went wrong. */
async function nextSigningTime(
  files: FileSystem,
  root: string,
  key: MinisignSecretKey,
  clock: Clock,
): Promise<number> {
  const now = Math.floor(clock.now() / 1000)
  try {
    const bytes = await files.readFile(join(root, signatureFile))
    if (bytes.length > defaultRepositoryLimits.signatureBytes) return now
    const last = parseMinisign(bytes)
    // Of which content it was does not matter, but it must be this key's.
    if (!hasGenuineComment(last, key.public)) return now
    return Math.max(now, (signingTime(last) ?? 0) + 1)
  } catch {
    return now
  }
}

async function write(files: FileSystem, path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeFileAtomically(files, path, content, publicFileMode)
  } catch (error) {
    throw unwritableError(path, error)
  }
}
