import { constants, existsSync } from 'node:fs'
import { access, readFile, readlink, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../base/files/file-system.ts'
import { keyFileFault, readKeyFile } from '../base/keys/key-file.ts'
import { createKeyRing, type KeyRing } from '../base/keys/key-ring.ts'
import type { Logger } from '../base/log/log.ts'
import { isLoopback } from '../base/network/loopback.ts'
import { chownCommand } from '../base/files/chown-command.ts'
import { type HeldDirectory, holdDirectory } from '../base/files/held-directory.ts'
import { makePrivateDirectory } from '../base/files/private-files.ts'
import { UnusableFileError } from '../base/files/unusable-file.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import { openTlsFiles, type TlsFiles } from '../base/keys/tls-files.ts'
import { type DirectoryLock, lockDirectory } from '../journal/lock/lock.ts'
import { SettingsError } from '../settings/definitions.ts'
import type { Settings } from '../settings/settings.ts'
import { StartInterrupted } from './interrupted-start.ts'
import { isTokenText } from '../settings/values.ts'

/** What has to be right before a host starts. Whatever is not becomes a `StartError`. */

/** A start that cannot be; the message is one line that says what to do. Nothing on disk has changed. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

export async function readToken(settings: Settings): Promise<string | undefined> {
  if (settings.token !== undefined || settings.tokenFile === undefined) return settings.token
  let token: string
  try {
    token = (await readFile(settings.tokenFile, 'utf8')).trim()
  } catch (error) {
    throw new SettingsError(
      `HOST_TOKEN_FILE (--token-file) cannot be read: ${messageOf(error)}. Correct the path or its permissions; "lupine token" makes such a file.`,
    )
  }
  if (isTokenText(token)) return token
  throw new SettingsError(
    `HOST_TOKEN_FILE ${settings.tokenFile} ${token === '' ? 'is empty' : 'has something else than visible ASCII characters in it'}; write one long random token into it.`,
  )
}

export async function readSecretKeys({ secretKeyFile }: Settings, files: FileSystem): Promise<KeyRing> {
  if (secretKeyFile === undefined) return createKeyRing([])
  try {
    return await readKeyFile(files, secretKeyFile)
  } catch (error) {
    throw new SettingsError(keyFileFault(error))
  }
}

export async function openTls(
  { tlsCertFile, tlsKeyFile }: Settings,
  parts: { files: FileSystem; clock: Clock; logger: Logger },
): Promise<TlsFiles | undefined> {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined
  return openTlsFiles({ certificateFile: tlsCertFile, keyFile: tlsKeyFile, ...parts }).catch(
    (error: unknown) => {
      throw new SettingsError(messageOf(error), { cause: error })
    },
  )
}

export function refuseUnprotectedListeners(settings: Settings, token: string | undefined): void {
  if (token !== undefined) return
  const open = [
    ['HOST_HTTP_BIND', settings.httpBind],
    ...(settings.mqttUrl === undefined ? [['HOST_MQTT_BIND', settings.mqttBind]] : []),
  ].find(([, bind]) => !isLoopback(bind ?? ''))
  if (open !== undefined) {
    throw new SettingsError(
      `${open[0]} is ${open[1]}, which others can reach: set HOST_TOKEN or HOST_TOKEN_FILE, or bind to 127.0.0.1.`,
    )
  }
}

const rightsMissing = 'correct its permissions, or set HOST_DATA_DIR to another one.'
const fileInTheWay = 'a file stands where a directory must be; set HOST_DATA_DIR to a directory.'

/** What to do about a directory that cannot be made or locked, by the system's error code. */
const adviceOn: Readonly<Record<string, string>> = {
  EACCES: rightsMissing,
  EPERM: rightsMissing,
  EEXIST: fileInTheWay,
  ENOTDIR: fileInTheWay,
  ENOENT: 'the system makes no directory there; set HOST_DATA_DIR to another one.',
}

/** What to do about a link on the way to a directory whose end is not there: a disk that is not mounted, as a rule. */
async function adviceOnLink(directory: string): Promise<string | undefined> {
  for (let path = directory; path !== dirname(path); path = dirname(path)) {
    const end = await readlink(path).catch(() => undefined)
    if (end !== undefined && !existsSync(path))
      return `${path} is a link to ${end}, which is not there; mount its disk, correct the link, or set HOST_DATA_DIR to another one.`
  }
  return undefined
}

/** Characters below which a token can be guessed; random ones of this many take longer than anybody has. */
const shortestToken = 16

/** Says what stands open, and the command that closes it. */
export function warnOfUnprotectedListeners(
  settings: Settings,
  token: string | undefined,
  logger: Logger,
): void {
  const remedy = '"lupine token" makes one (in a checkout: npm start -- token)'
  if (token === undefined) {
    logger.warn(`There is no token: every program on this machine may command this host; ${remedy}`)
  } else if (token.length < shortestToken) {
    logger.warn(`The token has fewer than ${shortestToken} characters and can be guessed; ${remedy}`)
  }
  if (token === undefined && settings.publicUrl !== undefined) {
    logger.warn('HOST_PUBLIC_URL is set without a token: whoever reaches it may command this host')
  }
}

/** Takes back what a start that came to nothing has made. What somebody has put there since stays, with all that it is in. */
async function removeEmpty(directories: readonly string[]): Promise<void> {
  for (const directory of directories) {
    try {
      await rmdir(directory)
    } catch (error) {
      // Not empty, or gone by now.
      if (systemErrorCode(error) === undefined) throw error
    }
  }
}

type TakenDirectory = DirectoryLock & Pick<HeldDirectory, 'files' | 'isMoved'>

/** Each time round, another start that has made the directory has failed just then, and taken it away. */
const mostTries = 20

/** What is said of a directory that is taken away between two calls; one that cannot be made says so each time. */
const whileGoing: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EEXIST'])

/** Makes the data directory if need be, and takes it for this process, which writes there by `files` from now on. */
export async function takeDirectory(
  directory: string,
  system: FileSystem,
  logger: Logger,
): Promise<TakenDirectory> {
  for (let triesLeft = mostTries; ; triesLeft -= 1) {
    const taken = await tryToTake(directory, system, triesLeft > 1)
    if (taken === undefined) continue
    await warnOfRoot(directory, logger)
    return taken
  }
}

/** Undefined: it was taken away meanwhile, and `mayBeGone`. */
async function tryToTake(
  directory: string,
  system: FileSystem,
  mayBeGone: boolean,
): Promise<TakenDirectory | undefined> {
  /** The innermost first. */
  const made: string[] = []
  const mkdir = async (path: string, options: { mode: number }): Promise<void> => {
    await systemFileSystem.mkdir(path, options)
    made.unshift(path)
  }
  let held: HeldDirectory | undefined
  let lock: DirectoryLock | undefined
  try {
    await makePrivateDirectory({ ...systemFileSystem, mkdir: mkdir as FileSystem['mkdir'] }, directory)
    held = await holdDirectory(system, directory)
    lock = await lockDirectory(directory)
    // Its files may be this user's where it is not, as after a copy: then nothing could be replaced, and no file begun.
    await access(directory, constants.W_OK | constants.X_OK)
  } catch (error) {
    await lock?.release({ withFile: true })
    await held?.release()
    await removeEmpty(made)
    if (mayBeGone && whileGoing.has(systemErrorCode(error))) return undefined
    if (error instanceof UnusableFileError) throw new StartError(error.message, { cause: error })
    const code = systemErrorCode(error)
    const advice =
      (await adviceOnLink(directory)) ?? adviceOn[code ?? ''] ?? storageFault(error) ?? rightsMissing
    throw new StartError(
      `The data directory ${directory} cannot be written (${code ?? messageOf(error)}): ${advice}`,
    )
  }
  const { files, isMoved, release } = held
  if (lock === undefined) {
    await release()
    throw new StartError(
      `Another host is running in ${directory}: stop it, or set HOST_DATA_DIR to a directory of this one's own.`,
    )
  }
  if (mayBeGone && (await isMoved())) {
    await Promise.all([release(), lock.release({ withFile: true })])
    await removeEmpty(made)
    return undefined
  }
  return {
    ...{ files, isMoved },
    async release(how) {
      await Promise.all([release(), lock.release(how)])
      if (how?.withFile === true) await removeEmpty(made)
    },
  }
}

/** As after one `sudo npm start`: the next start, by the user that it belongs to, could not read what this one writes. */
async function warnOfRoot(directory: string, logger: Logger): Promise<void> {
  const owner = await systemFileSystem.stat(directory)
  if (process.getuid?.() !== 0 || owner.uid === 0) return
  logger.warn(
    'The host runs as root in a data directory of another user: what it writes is root’s, and a host of that user cannot read it. ' +
      'Unless that is meant, stop it, give all back, and start it as that user',
    { user: owner.uid, command: chownCommand(directory, owner) },
  )
}

export async function asStartError<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof StartInterrupted) throw error
    throw new StartError(messageOf(error), { cause: error })
  }
}
