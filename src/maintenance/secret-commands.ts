import { dirname, resolve } from 'node:path'
import { systemClock } from '../base/time/clock.ts'
import { systemFileSystem } from '../base/files/file-system.ts'
import { unwritableError } from '../base/files/storage-fault.ts'
import { addKey, keyFileFault, readKeyFile } from '../base/keys/key-file.ts'
import type { KeyRing } from '../base/keys/key-ring.ts'
import { systemErrorCode } from '../base/problem.ts'
import { noVault, type Vault } from '../journal/vault.ts'
import { createSecretVault } from '../lifecycle/secrets/secret-vault.ts'
import { rewriteSecrets } from './rewrite-secrets.ts'

/** The commands about secrets that are run while the host is stopped. Each answers what to tell its user. */

/** Throws one sentence when the file cannot be used. */
export async function readKeys(path: string): Promise<KeyRing> {
  try {
    return await readKeyFile(systemFileSystem, path)
  } catch (error) {
    throw new Error(keyFileFault(error), { cause: error })
  }
}

/** For `repair`, which needs no key, but finds more with it. */
export async function vaultOf(secretKeyFile: string | undefined): Promise<Vault> {
  return secretKeyFile === undefined
    ? noVault
    : createSecretVault(await readKeys(secretKeyFile), () => undefined)
}

/** Makes a key file, or puts a new key on top of it. */
export async function makeSecretKey(secretKeyFile: string): Promise<string> {
  const path = resolve(secretKeyFile)
  const { id, created } = await addKey(systemFileSystem, path).catch((error: unknown) => {
    const code = systemErrorCode(error)
    if (code === undefined) throw error
    if (code !== 'ENOENT') throw unwritableError(path, error)
    throw new Error(`The folder ${dirname(path)} is not there; make it first.`, { cause: error })
  })
  if (created) {
    return (
      `Made ${secretKeyFile} with the key ${id}. Keep a copy of it elsewhere: without it nobody reads the secrets again.\n` +
      'Set HOST_SECRET_KEY_FILE to it; "lupine rotate-key" encrypts what is in plain text until now.\n'
    )
  }
  return (
    `The key ${id} is the first in ${secretKeyFile} now, and encrypts from the next start on.\n` +
    'For a single host: stop it and run "lupine rotate-key"; then the other lines can go.\n' +
    'In a fleet they stay, and every host needs this file.\n'
  )
}

export async function rewriteDirectory(
  dataDirectory: string,
  ring: KeyRing,
  purpose: 'rotate' | 'decrypt',
): Promise<string> {
  const { events, stores, leftOut } = await rewriteSecrets({
    directory: resolve(dataDirectory),
    files: systemFileSystem,
    clock: systemClock,
    ring,
    purpose,
  })
  const done =
    purpose === 'rotate'
      ? `All secrets are encrypted with the key ${ring.ids[0]} (${events} events, ${stores} key-value stores).`
      : `All secrets are in plain text (${events} events, ${stores} key-value stores); start without HOST_SECRET_KEY_FILE.`
  const apart = leftOut.length > 0 ? 'Apart from what is named below, this' : 'This'
  const old =
    purpose === 'rotate' && ring.ids.length > 1
      ? [`${apart} directory does not need ${ring.ids.slice(1).join(', ')} any more; backups of it may.`]
      : []
  const left = leftOut.map(({ file, reason }) => `Not changed: ${file} (${reason}).`)
  return [done, ...old, ...left, ''].join('\n')
}
