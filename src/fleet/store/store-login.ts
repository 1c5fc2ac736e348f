import { hostOfAddress, isLoopback } from '../../base/network/loopback.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import { StoreRefusedError } from './store-errors.ts'

/** How the fleet's store is reached, and who this host is there: as the settings say it. */

export interface StoreLogin {
  /** `nats://`, `tls://`, `ws://` or `wss://` addresses of servers of one cluster. No other server is asked. */
  servers: readonly string[]
  /** A file of NATS (`.creds`); or one with a line `user:password`. At most one of them. */
  credentialsFile?: string | undefined
  passwordFile?: string | undefined
  /** Certificates (PEM) that the store's certificate may be signed by, instead of those that Node knows. */
  caFile?: string | undefined
}

export interface ReadLogin {
  credentials?: Uint8Array
  user?: string
  password?: string
  ca?: string
}

/** Reads the files. Throws `StoreRefusedError` with one line, and without a word of what is in them. */
export async function readLogin(files: Pick<FileSystem, 'readFile'>, login: StoreLogin): Promise<ReadLogin> {
  const { credentialsFile, passwordFile, caFile } = login
  const read: ReadLogin = {}
  if (credentialsFile !== undefined) {
    const text = await readText(files, 'HOST_FLEET_CREDENTIALS_FILE', credentialsFile)
    const isWhole = ['NATS USER JWT', 'USER NKEY SEED'].every((part) =>
      text.includes(`-----BEGIN ${part}-----`),
    )
    if (!isWhole) {
      throw new StoreRefusedError(
        `HOST_FLEET_CREDENTIALS_FILE ${credentialsFile} holds no credentials of NATS (a user's JWT and its seed); "nsc generate creds" writes them.`,
      )
    }
    read.credentials = Buffer.from(text)
  }
  if (passwordFile !== undefined) {
    const text = (await readText(files, 'HOST_FLEET_PASSWORD_FILE', passwordFile)).trim()
    const [, user, password] = /^([^:\n]+):([^\n]+)$/.exec(text) ?? []
    if (user === undefined || password === undefined) {
      throw new StoreRefusedError(
        `HOST_FLEET_PASSWORD_FILE ${passwordFile} must have one line with user and password: user:password.`,
      )
    }
    read.user = user
    read.password = password
  }
  if (caFile !== undefined) {
    read.ca = await readText(files, 'HOST_FLEET_CA_FILE', caFile)
    if (!read.ca.includes('-----BEGIN CERTIFICATE-----')) {
      throw new StoreRefusedError(`HOST_FLEET_CA_FILE ${caFile} holds no certificate (PEM).`)
    }
  }
  return read
}

async function readText(files: Pick<FileSystem, 'readFile'>, setting: string, path: string): Promise<string> {
  try {
    return Buffer.from(await files.readFile(path)).toString()
  } catch (error) {
    throw new StoreRefusedError(
      `${setting} ${path} cannot be read (${systemErrorCode(error) ?? messageOf(error)}).`,
      { cause: error },
    )
  }
}

/** Whether every address leads to this machine alone. */
export function areLoopback(servers: readonly string[]): boolean {
  return servers.every((server) => isLoopback(hostOfAddress(server)))
}

/** What the store says of itself to whoever connects. */
export interface StoreGreeting {
  auth_required?: boolean | undefined
  tls_verify?: boolean | undefined
}

/** Why a store is not good enough for a fleet: anybody could write to it. Undefined: it is. */
export function openStoreFault(servers: readonly string[], greeting: StoreGreeting): string | undefined {
  if (areLoopback(servers) || greeting.auth_required === true || greeting.tls_verify === true)
    return undefined
  return (
    `The fleet's store at ${servers.join(', ')} lets anybody in. Only a store on this machine (127.0.0.1) may do so: ` +
    'give it a login ("authorization" in its configuration).'
  )
}
