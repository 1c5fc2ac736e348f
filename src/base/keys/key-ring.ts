import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { getOrInsert } from '../get-or-insert.ts'

/** Encrypts texts for the disk with AES-256-GCM, under keys that the host's owner keeps elsewhere. */

/** Bytes of a key. */
export const keyBytes = 32
/** Bytes of the random number that makes every encryption another one; what GCM is made for. */
const nonceBytes = 12
/** Bytes of the tag that proves that nothing was changed. */
const tagBytes = 16

const marker = '$encrypted:v1:'
const sealedForm = /^\$encrypted:v1:([0-9a-f]{8}):([\w-]+)$/

export interface KeyRing {
  /** Names of the keys: the first encrypts, all of them decrypt. */
  readonly ids: readonly string[]
  /**
   * `context` says where the text belongs: it can be opened there only. The answer is
   * `$encrypted:v1:<name of the key>:<nonce, content and tag in base64url>`.
   */
  seal(context: string, text: string): string
  /** Throws `SecretKeyError` without the right key, and an Error at what was not sealed for this context. */
  open(context: string, sealed: string): string
  /** Throws `SecretKeyError` when the key of this name is not there. */
  require(id: string): void
}

/** Something is encrypted, and its key is not there. Says what to do; nothing is damaged. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError'
}

/** The part of a key that may be known: it names the key in what was encrypted with it. */
export function keyId(key: Uint8Array): string {
  return createHash('sha256').update('lupine key id').update(key).digest('hex').slice(0, 8)
}

/**
 * Whether a text is sealed, or was before a character of its marker changed: taken for a value of a person's,
 * such a text would take the place of the secret.
 */
export function looksSealed(text: string): boolean {
  if (text.length < marker.length) return false
  let different = 0
  for (let index = 0; index < marker.length; index += 1) {
    if (text[index] !== marker[index]) different += 1
    if (different > 1) return false
  }
  return true
}

/** Name of the key that a sealed text needs; undefined: it is none. */
export function keyIdOf(sealed: string): string | undefined {
  return sealedForm.exec(sealed)?.[1]
}

/** An empty list makes a ring that opens nothing, and may not seal. */
export function createKeyRing(keys: readonly Uint8Array[]): KeyRing {
  const byId = new Map(keys.map((key) => [keyId(key), key]))
  const ids = [...byId.keys()]
  const derived = new Map<string, Buffer>()

  /** A key for each context, so that none encrypts more than random nonces are good for (2^32 texts). */
  function keyFor(id: string, context: string): Buffer {
    const master = byId.get(id)
    if (master === undefined) throw keyMissing(id, ids)
    return getOrInsert(derived, `${id} ${context}`, () =>
      Buffer.from(hkdfSync('sha256', master, '', `lupine ${context}`, keyBytes)),
    )
  }

  return {
    ids,
    require(id) {
      if (!byId.has(id)) throw keyMissing(id, ids)
    },
    seal(context, text) {
      const [id] = ids
      if (id === undefined) throw new Error('There is no key to encrypt with')
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', keyFor(id, context), nonce)
      cipher.setAAD(Buffer.from(context))
      const content = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${marker}${id}:${content.toString('base64url')}`
    },
    open(context, sealed) {
      const [, id = '', text = ''] = sealedForm.exec(sealed) ?? []
      const bytes = Buffer.from(text, 'base64url')
      // Spare bits of the last character may say anything: only one spelling is taken.
      if (id === '' || bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== text) {
        throw new Error('it is not a whole encrypted value')
      }
      const key = keyFor(id, context)
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(-tagBytes))
      try {
        return (
          decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
        )
      } catch {
        throw new Error('it is not what was encrypted for this place: it was changed, or belongs elsewhere')
      }
    },
  }
}

function keyMissing(id: string, ids: readonly string[]): SecretKeyError {
  const setting = 'HOST_SECRET_KEY_FILE (--secret-key-file)'
  return new SecretKeyError(
    ids.length === 0
      ? `Secrets are encrypted with the key ${id}: set ${setting} to the file that holds it.`
      : `Secrets are encrypted with the key ${id}, but ${setting} holds ${ids.join(', ')}: add the missing key to that file, in a line of its own.`,
  )
}
