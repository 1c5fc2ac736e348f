import { createHash } from 'node:crypto'

/**
 * The file beside the worker's program that holds it compiled: a SHA-256 of both, and V8's code cache. V8 itself refuses a
 * cache of another version or for other flags, but compares nothing of the program except its length, and nothing of the
 * code: when that is damaged the process may end.
 */

const hashBytes = 32

function hash(program: Uint8Array, code: Uint8Array): Buffer {
  return createHash('sha256').update(program).update(code).digest()
}

export function packCodeCache(program: Uint8Array, code: Uint8Array): Buffer {
  return Buffer.concat([hash(program, code), code])
}

/** V8's code cache, or undefined when it is not one of this program, or not whole. */
export function unpackCodeCache(program: Uint8Array, packed: Buffer): Buffer | undefined {
  const code = packed.subarray(hashBytes)
  return hash(program, code).equals(packed.subarray(0, hashBytes)) ? code : undefined
}
