import { type Clock, withDeadline } from '../time/clock.ts'
import { every } from '../time/every.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Logger } from '../log/log.ts'
import { messageOf } from '../problem.ts'
import { tlsFault, type TlsIdentity, type TlsSource, type Validity, validityOf } from './tls-identity.ts'

/**
 * How often the files are read again, in milliseconds. Reading finds every way in which they change (written
 * anew, renamed, a link that points elsewhere, on a file system of the network), which watching does not.
 */
export const tlsReadInterval = 60_000
/** How long the files may take to be read, in milliseconds: a file system of the network may stand still. */
export const tlsReadTime = 10_000
/** How long before its end, in milliseconds, a certificate is warned of: most are renewed a month before. */
export const expiryWarningTime = 14 * 24 * 60 * 60 * 1_000
/** How long until the same warning comes again, in milliseconds. */
export const expiryWarningInterval = 24 * 60 * 60 * 1_000

export interface TlsFilesSettings {
  /** PEM: the certificate, and those that signed it. */
  certificateFile: string
  /** PEM, without a passphrase. */
  keyFile: string
  files: Pick<FileSystem, 'readFile'>
  clock: Clock
  logger: Logger
}

/** What the host says of its certificate. */
export interface TlsStatus extends Validity {
  /** When it was read, in milliseconds since the epoch. */
  loadedAt: number
  /** Why what the files hold now is not in use; null: it is. */
  fault: string | null
}

/** Certificate and key of the servers, as their files have them. */
export interface TlsFiles extends TlsSource {
  readonly status: TlsStatus
  /** Reads the files now and takes up what they hold, if that can be used. Never rejects. */
  reload(): Promise<void>
  /** Stops reading. Idempotent. */
  close(): void
}

/** Reads both files, and from then on once in an interval. Rejects with a sentence that says what to do. */
export async function openTlsFiles(settings: TlsFilesSettings): Promise<TlsFiles> {
  const { clock, logger } = settings
  let identity = await readIdentity(settings)
  const firstFault = tlsFault(identity)
  if (firstFault !== undefined) throw new Error(sentenceOf(firstFault))
  let status: TlsStatus = { ...validityOf(identity), loadedAt: clock.now(), fault: null }
  let reading: Promise<TlsIdentity> | undefined
  let warned: { words: string; at: number } | undefined
  let isClosed = false
  const takers = new Set<(identity: TlsIdentity) => void>()

  async function look(): Promise<void> {
    try {
      // One that still waits for the file system is waited for on: a second one would wait behind it.
      reading ??= readIdentity(settings).finally(() => (reading = undefined))
      const found = await withDeadline(clock, tlsReadTime, reading, lateError)
      if (!isClosed) consider(found)
    } catch (error) {
      if (!isClosed) setFault(messageOf(error))
    }
    if (!isClosed) warnOfEnd()
  }

  function consider(found: TlsIdentity): void {
    if (isSame(found, identity)) {
      // Somebody has put the old ones back, or the files can be read again.
      status = { ...status, fault: null }
      return
    }
    const fault = tlsFault(found)
    if (fault !== undefined) {
      setFault(sentenceOf(fault))
      return
    }
    identity = found
    status = { ...validityOf(found), loadedAt: clock.now(), fault: null }
    for (const take of takers) take(found)
    logger.info('A renewed certificate is in use', { validUntil: dayOf(status.until) })
  }

  function setFault(fault: string): void {
    if (fault !== status.fault) {
      logger.error('What the certificate files hold cannot be used; the certificate from before is kept', {
        reason: fault,
      })
    }
    status = { ...status, fault }
  }

  function warnOfEnd(): void {
    const now = clock.now()
    const isEarly = now < status.from
    if (!isEarly && now < status.until - expiryWarningTime) return
    const words = isEarly
      ? 'The certificate is not valid yet'
      : now < status.until
        ? 'The certificate ends soon: renew it'
        : 'The certificate has ended: renew it'
    // A clock that was set may tell something else at once.
    if (words === warned?.words && clock.monotonic() - warned.at < expiryWarningInterval) return
    warned = { words, at: clock.monotonic() }
    logger.warn(words, isEarly ? { validFrom: dayOf(status.from) } : { validUntil: dayOf(status.until) })
  }

  warnOfEnd()
  const looking = every(clock, tlsReadInterval, () => void look())
  return {
    get identity() {
      return identity
    },
    get status() {
      return status
    },
    onRenewed(take) {
      takers.add(take)
      return () => void takers.delete(take)
    },
    reload: look,
    close() {
      isClosed = true
      looking.cancel()
      takers.clear()
    },
  }
}

async function readIdentity({ files, certificateFile, keyFile }: TlsFilesSettings): Promise<TlsIdentity> {
  const read = async (variable: string, file: string): Promise<string> => {
    try {
      return await files.readFile(file, 'utf8')
    } catch (error) {
      throw new Error(
        `${variable} cannot be read: ${messageOf(error)}. Correct the path or its permissions.`,
        { cause: error },
      )
    }
  }
  return {
    certificate: await read('HOST_TLS_CERT_FILE', certificateFile),
    key: await read('HOST_TLS_KEY_FILE', keyFile),
  }
}

function sentenceOf(fault: string): string {
  return `HOST_TLS_CERT_FILE and HOST_TLS_KEY_FILE cannot be used (${fault}): they must be a PEM certificate and its key without a passphrase.`
}

function lateError(): Error {
  return new Error('HOST_TLS_CERT_FILE and HOST_TLS_KEY_FILE could not be read in time.')
}

function isSame(left: TlsIdentity, right: TlsIdentity): boolean {
  return left.certificate === right.certificate && left.key === right.key
}

function dayOf(time: number): string {
  return new Date(time).toISOString()
}
