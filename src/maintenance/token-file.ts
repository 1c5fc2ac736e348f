import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { createFile, type FileSystem } from '../base/files/file-system.ts'
import {
  makePrivateDirectory,
  placeWithRights,
  privateFileMode,
  rightsOfOthers,
} from '../base/files/private-files.ts'
import { unwritableError } from '../base/files/storage-fault.ts'
import { systemErrorCode } from '../base/problem.ts'

/** Random bytes of a token: more than anybody can guess. */
const tokenBytes = 32
/** Name in the data directory, where nothing else is asked for. */
const tokenFileName = '.host.token'

/** Where the file is to be. */
export interface TokenPlace {
  /** Undefined: in the data directory. */
  tokenFile: string | undefined
  dataDirectory: string
}

/**
 * Makes a file with a new token, for its owner alone, and answers what to tell its user. Throws one sentence where
 * there is a file already: it is never overwritten, as everybody who has the token in it would be locked out.
 *
 * `reader`: who this process is, to whoever runs the command.
 */
export async function makeTokenFile(
  files: FileSystem,
  { tokenFile, dataDirectory }: TokenPlace,
  reader = 'you',
): Promise<string> {
  const path = resolve(tokenFile ?? join(dataDirectory, tokenFileName))
  if (tokenFile === undefined) {
    await makePrivateDirectory(files, dirname(path)).catch((error: unknown) => {
      throw unwritableError(path, error)
    })
  }
  const token = randomBytes(tokenBytes).toString('base64url')
  await createFile(files, path, `${token}\n`, privateFileMode).catch(async (error: unknown) => {
    const isFolder = systemErrorCode(error) === 'EEXIST' && (await files.stat(path)).isDirectory()
    throw isFolder
      ? new Error(`${path} is a folder; name a file in it.`, { cause: error })
      : explained(error, path)
  })
  const isOpen = ((await files.stat(path)).mode & rightsOfOthers) !== 0
  const whoReads = isOpen
    ? `others can use it, as its file system keeps no rights: ${placeWithRights}`
    : `only ${reader} can read it`
  return (
    `Made ${path}; ${whoReads}. Start the host with HOST_TOKEN_FILE=${path} (or --token-file).\n` +
    'Its content is the token: for the login of the web pages, "Authorization: Bearer …" and as the password of MQTT.\n'
  )
}

function explained(error: unknown, path: string): unknown {
  const code = systemErrorCode(error)
  if (code === 'EEXIST') {
    return new Error(
      `${path} is there already and was not changed. Start the host with HOST_TOKEN_FILE=${path}, or move the file away for a new token.`,
      { cause: error },
    )
  }
  if (code === undefined) return error
  if (code !== 'ENOENT') return unwritableError(path, error)
  return new Error(`The folder of ${path} is not there; make it first.`, { cause: error })
}
