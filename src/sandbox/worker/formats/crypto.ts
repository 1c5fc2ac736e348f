import type { BinaryLike, CipherGCMTypes } from 'node:crypto'
import type { LuaValue } from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'
import { option, optionalNumber, optionalText } from '../lua/arguments.ts'
import { crc16, crc32 } from './checksums.ts'
import { bytesArgument, eachPiece, type FormatLibrary } from './format-function.ts'
import lazyModules from './lazy-modules.cts'

const digests = ['md5', 'sha1', 'sha256', 'sha512'] as const
/** Bytes; nobody needs more of them at once. */
const mostRandomBytes = 1024 * 1024
/** Bytes of an AES block; GCM takes its initial value in another length. */
const block = 16
const gcmInitial = 12
const tagBytes = 16
/** Bytes of keys by the algorithm's bits. */
const keyBytes = { 128: 16, 256: 32 } as const

type Digest = (typeof digests)[number]

/** Hashes, checksums and AES, by Node's own `crypto`. */
export const crypto: FormatLibrary = {
  ...Object.fromEntries(
    digests.map((algorithm) => [algorithm, (_context: unknown, data: LuaValue) => digest(algorithm, data)]),
  ),

  *hmac(_context, algorithm, key, data) {
    const name = optionalText(algorithm)?.toLowerCase()
    if (!digests.includes(name as Digest))
      throw new Error(`the algorithm must be one of ${digests.join(', ')}`)
    const hmac = lazyModules.cryptography().createHmac(name as Digest, bytesArgument(key, 'the key'))
    yield* eachPiece(bytesArgument(data, 'the data'), (piece) => hmac.update(piece))
    return hmac.digest()
  },

  crc16: (_context, data) => crc16(bytesArgument(data, 'the data')),
  crc32: (_context, data) => crc32(bytesArgument(data, 'the data')),

  randomBytes(_context, count) {
    const bytes = optionalNumber(count)
    if (bytes === undefined || !Number.isInteger(bytes) || bytes < 0 || bytes > mostRandomBytes)
      throw new Error(`how many bytes must be a whole number from 0 to ${mostRandomBytes}`)
    return lazyModules.cryptography().randomBytes(bytes)
  },

  uuid: () => Buffer.from(lazyModules.cryptography().randomUUID()),

  equal(_context, first, second) {
    const [a, b] = [bytesArgument(first, 'the first value'), bytesArgument(second, 'the second value')]
    // How long each of them is shows in any case.
    return a.length === b.length && lazyModules.cryptography().timingSafeEqual(a, b)
  },

  *encrypt(context, algorithm, key, initial, data, options) {
    const { name, isGcm, keyOf, initialOf } = cipherOf(algorithm)
    const bytes = bytesArgument(data, 'the data')
    context.byteBudget().spend(bytes.length + block)
    const made = lazyModules.cryptography().createCipheriv(name, keyOf(key), initialOf(initial))
    if (!isGcm) return yield* transformed(made, bytes)
    authenticate(made, options)
    const text = yield* transformed(made, bytes)
    return [text, made.getAuthTag()]
  },

  *decrypt(_context, algorithm, key, initial, data, options) {
    const { name, isGcm, keyOf, initialOf } = cipherOf(algorithm)
    const bytes = bytesArgument(data, 'the data')
    const made = lazyModules.cryptography().createDecipheriv(name, keyOf(key), initialOf(initial))
    if (isGcm) {
      const tag = bytesArgument(option(options, 'tag'), 'the option tag')
      if (tag.length !== tagBytes) throw new Error(`the option tag must have ${tagBytes} bytes`)
      made.setAuthTag(tag)
      authenticate(made, options)
    }
    return yield* transformed(
      made,
      bytes,
      'the key, the initial value or the data are not those it was encrypted with',
    )
  },
}

function* digest(algorithm: Digest, data: LuaValue): Steps<LuaValue> {
  const bytes = bytesArgument(data, 'the data')
  const hash = lazyModules.cryptography().createHash(algorithm)
  yield* eachPiece(bytes, (piece) => hash.update(piece))
  return hash.digest()
}

function cipherOf(algorithm: LuaValue) {
  const [, name, bits, mode] =
    /^(aes-(128|256)-(cbc|ctr|gcm))$/.exec(optionalText(algorithm)?.toLowerCase() ?? '') ?? []
  if (name === undefined) throw new Error('the algorithm must be aes-128 or aes-256, with -cbc, -ctr or -gcm')
  const sized = (value: LuaValue, what: string, bytes: number): Uint8Array => {
    const given = bytesArgument(value, what)
    if (given.length !== bytes)
      throw new Error(`${what} of ${name} must have ${bytes} bytes, not ${given.length}`)
    return given
  }
  const isGcm = mode === 'gcm'
  return {
    // The types know the authenticated modes apart, which are known here only when it runs.
    name: name as CipherGCMTypes,
    isGcm,
    keyOf: (key: LuaValue) => sized(key, 'the key', keyBytes[bits === '128' ? 128 : 256]),
    initialOf: (initial: LuaValue): BinaryLike =>
      sized(initial, 'the initial value', isGcm ? gcmInitial : block),
  }
}

function authenticate(cipher: { setAAD(data: Uint8Array): unknown }, options: LuaValue): void {
  const data = option(options, 'aad')
  if (data !== undefined) cipher.setAAD(bytesArgument(data, 'the option aad'))
}

interface Transform {
  update(piece: Uint8Array): Buffer
  final(): Buffer
}

function* transformed(cipher: Transform, bytes: Uint8Array, problem?: string): Steps<Buffer> {
  const parts: Buffer[] = []
  yield* eachPiece(bytes, (piece) => void parts.push(cipher.update(piece)))
  try {
    parts.push(cipher.final())
  } catch (error) {
    throw problem === undefined ? error : new Error(problem)
  }
  return Buffer.concat(parts)
}
