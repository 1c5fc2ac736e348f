import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { trimEndOf } from '../text/trim-end.ts'

/**
 * Public keys and signatures in the text form of minisign: Ed25519, of a BLAKE2b-512 hash of the message
 * (`ED`) or, in old ones, of the message itself (`Ed`). Nothing of it is secret.
 */

/** Why a key or a signature is none, or is not for this message. The rest of a sentence, and what to do. */
export class MinisignError extends Error {
  override readonly name = 'MinisignError'
}

export interface MinisignKey {
  /** As minisign writes it in a line of its own: `RWQ…`, 56 characters. */
  text: string
  /** Tells keys apart: 16 hexadecimal digits, as minisign shows them. Not a secret, and no proof. */
  id: string
  key: KeyObject
}

export interface MinisignSignature {
  /** Id of the key that is said to have made it. */
  keyId: string
  hashed: boolean
  signature: Uint8Array
  /** Bytes as they were signed. */
  trustedComment: Uint8Array
  globalSignature: Uint8Array
}

export const keyIdBytes = 8
const signatureBytes = 64
const pointBytes = 32
const algorithmBytes = 2
/** Of a key, and of a signature of a message as it is. */
export const plainAlgorithm = 'Ed'
/** Of a signature of the message's hash. */
export const hashedAlgorithm = 'ED'
export const untrustedPrefix = 'untrusted comment: '
export const trustedPrefix = 'trusted comment: '

/** What Node wants before the 32 bytes of an Ed25519 public key (RFC 8410). */
const publicKeyHeader = Buffer.from('302a300506032b6570032100', 'hex')

/** Lines without what ends them, one byte a character: a signed comment must stay exactly as it is. */
function linesOf(content: Uint8Array): string[] {
  const lines = Buffer.from(content).toString('latin1').split('\n')
  return lines.map((line) => trimEndOf(line, '\r'))
}

/** Bytes of canonical base64 of exactly this length. */
function decode(text: string | undefined, length: number): Buffer | undefined {
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined
}

/** The other way round than in the file: minisign takes the eight bytes for a number. */
function keyIdText(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex').toUpperCase()
}

/** The lines of a key file, without comments and empty ones. */
export function keyLines(content: string): string[] {
  const lines = content.split(/\r?\n/).map((line) => line.trim())
  return lines.filter((line) => line !== '' && !line.startsWith('untrusted comment:'))
}

/** Reads the line `RW…`, with or without the comment line before it. Throws `MinisignError`. */
export function parsePublicKey(content: string): MinisignKey {
  const [text, ...others] = keyLines(content)
  if (text === undefined)
    throw new MinisignError('is empty; it is the line of the public key that begins with RW')
  if (others.length > 0 || content.split('\n').length > 4) {
    throw new MinisignError('has more than one line; give the one line of the public key that begins with RW')
  }
  if (text.length > 200) {
    throw new MinisignError(
      'is no public key, but looks like a secret one; keep that one, and give the public key',
    )
  }
  const bytes = decode(text, algorithmBytes + keyIdBytes + pointBytes)
  if (bytes?.toString('latin1', 0, algorithmBytes) !== plainAlgorithm) {
    throw new MinisignError('is not a public key of minisign: 56 characters that begin with RW')
  }
  return publicKeyOf(bytes.subarray(algorithmBytes, algorithmBytes + keyIdBytes), bytes.subarray(-pointBytes))
}

/** A key of its parts: 8 and 32 bytes. */
export function publicKeyOf(keyId: Uint8Array, point: Uint8Array): MinisignKey {
  const text = Buffer.concat([Buffer.from(plainAlgorithm), keyId, point]).toString('base64')
  const key = createPublicKey({ key: Buffer.concat([publicKeyHeader, point]), format: 'der', type: 'spki' })
  return { text, id: keyIdText(keyId), key }
}

/** Reads a `.minisig` file. It proves nothing yet: that is `verifyMinisign`. Throws `MinisignError`. */
export function parseMinisign(content: Uint8Array): MinisignSignature {
  const [untrusted, first, comment, second, ...rest] = linesOf(content)
  const isWhole =
    untrusted?.startsWith('untrusted comment:') === true &&
    comment?.startsWith(trustedPrefix) === true &&
    rest.every((line) => line === '')
  const bytes = decode(first, algorithmBytes + keyIdBytes + signatureBytes)
  const globalSignature = decode(second, signatureBytes)
  if (!isWhole || bytes === undefined || globalSignature === undefined) {
    throw new MinisignError('is not a signature file of minisign')
  }
  const algorithm = bytes.toString('latin1', 0, algorithmBytes)
  if (algorithm !== hashedAlgorithm && algorithm !== plainAlgorithm) {
    throw new MinisignError(
      'uses an algorithm that is not known here; sign with minisign, or with "lupine sign"',
    )
  }
  return {
    keyId: keyIdText(bytes.subarray(algorithmBytes, algorithmBytes + keyIdBytes)),
    hashed: algorithm === hashedAlgorithm,
    signature: bytes.subarray(-signatureBytes),
    trustedComment: Buffer.from(comment.slice(trustedPrefix.length), 'latin1'),
    globalSignature,
  }
}

/** What is signed of a message. */
export function signedPart(message: Uint8Array): Buffer {
  return createHash('blake2b512').update(message).digest()
}

/** Throws `MinisignError` unless this key made the signature of this message, and of its trusted comment. */
export function verifyMinisign(message: Uint8Array, signed: MinisignSignature, signer: MinisignKey): void {
  const { keyId, hashed, signature } = signed
  const { id, key } = signer
  if (keyId !== id) throw new MinisignError(`is made with the key ${keyId}, not with ${id}`)
  if (!verify(null, hashed ? signedPart(message) : message, key, signature)) {
    throw new MinisignError('does not fit: it is of another content, or of another key')
  }
  if (!hasGenuineComment(signed, signer)) {
    throw new MinisignError('has a trusted comment that is not the signed one')
  }
}

/** Whether this key signed the trusted comment, of whatever content. */
export function hasGenuineComment(signed: MinisignSignature, { id, key }: MinisignKey): boolean {
  const { keyId, signature, trustedComment, globalSignature } = signed
  return keyId === id && verify(null, Buffer.concat([signature, trustedComment]), key, globalSignature)
}

/** Seconds since 1970 at which it was signed, if the trusted comment says so, as minisign's own does. */
export function signingTime({ trustedComment }: MinisignSignature): number | undefined {
  // At most 15 digits: a number that is exact.
  const [, seconds] =
    /(?:^|\s)timestamp:(\d{1,15})(?=\s|$)/.exec(Buffer.from(trustedComment).toString('latin1')) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}
