import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import {
  hashedAlgorithm,
  keyIdBytes,
  keyLines,
  type MinisignKey,
  MinisignError,
  plainAlgorithm,
  publicKeyOf,
  signedPart,
  trustedPrefix,
  untrustedPrefix,
} from './minisign.ts'

/** Secret keys in minisign's form without a password (`minisign -G -W`), and signing with them. */

export interface MinisignSecretKey {
  public: MinisignKey
  keyId: Uint8Array
  private: KeyObject
}

/**
 * Two letters each for algorithm, key derivation (none) and checksum; 48 bytes for the derivation; the id, the
 * 64 bytes of the key; 32 bytes for a checksum, which minisign leaves empty without a password.
 */
const size = 158
const derivationAt = 2
const keyIdAt = 54
const seedAt = keyIdAt + keyIdBytes
const seedBytes = 32
const checksumName = 'B2'
const privateKeyHeader = Buffer.from('302e020100300506032b657004220420', 'hex')

function rawPublic(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-seedBytes)
}

/** A new key, and the text of its file. */
export function makeSecretKey(): { key: MinisignSecretKey; text: string } {
  const { privateKey } = generateKeyPairSync('ed25519')
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-seedBytes)
  const keyId = randomBytes(keyIdBytes)
  const point = rawPublic(privateKey)
  const bytes = Buffer.alloc(size)
  bytes.write(plainAlgorithm, 0, 'latin1')
  bytes.write(checksumName, 4, 'latin1')
  Buffer.concat([keyId, seed, point]).copy(bytes, keyIdAt)
  const text = `${untrustedPrefix}minisign secret key, without a password\n${bytes.toString('base64')}\n`
  return { key: { public: publicKeyOf(keyId, point), keyId, private: privateKey }, text }
}

/** Throws `MinisignError` without a word of the content. */
export function parseSecretKey(content: string): MinisignSecretKey {
  const [text = '', ...others] = keyLines(content)
  const bytes = Buffer.from(text, 'base64')
  const isOne =
    others.length === 0 &&
    bytes.length === size &&
    bytes.toString('base64') === text &&
    bytes.toString('latin1', 0, derivationAt) === plainAlgorithm
  if (!isOne) throw new MinisignError('is not a secret key of minisign; "lupine keygen" makes one')
  if (bytes.readUInt16LE(derivationAt) !== 0) {
    throw new MinisignError(
      'has a password, which only minisign can ask for; run "lupine sign" with --hashes-only, then "minisign -Sm plugins.json"',
    )
  }
  const seed = bytes.subarray(seedAt, seedAt + seedBytes)
  const point = bytes.subarray(seedAt + seedBytes, seedAt + 2 * seedBytes)
  const key = createPrivateKey({ key: Buffer.concat([privateKeyHeader, seed]), format: 'der', type: 'pkcs8' })
  if (!rawPublic(key).equals(point)) {
    throw new MinisignError('is damaged: its two halves do not belong together; take a copy of it')
  }
  const keyId = Buffer.from(bytes.subarray(keyIdAt, seedAt))
  return { public: publicKeyOf(keyId, point), keyId, private: key }
}

/** Text of the `.minisig` file of a message. `seconds`: since 1970. */
export function signMinisign(
  message: Uint8Array,
  file: string,
  seconds: number,
  { keyId, private: key }: MinisignSecretKey,
): string {
  const comment = `timestamp:${seconds}\tfile:${file}\thashed`
  const signature = sign(null, signedPart(message), key)
  const globalSignature = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key)
  return [
    `${untrustedPrefix}signature of ${file}`,
    Buffer.concat([Buffer.from(hashedAlgorithm), keyId, signature]).toString('base64'),
    `${trustedPrefix}${comment}`,
    globalSignature.toString('base64'),
    '',
  ].join('\n')
}
