import { createHash } from 'node:crypto'

/**
 * The file beside the worker's program that holds it compiled: a SHA-256 of the program, and V8's code cache. V8 itself
 * refuses a cache of another version or for other flags, but compares nothing of the program except its length.
 */

const hash = (program: Uint8Array): Buffer => createHash('sha256').update(program).digest()
const hashBytes = 32

export function packCodeCache(program: Uint8Array, code: Uint8Array): Buffer {
  return Buffer.concat([hash(program), code])
}

/** V8's code cache, or undefined when it is not one of this program. */
export function unpackCodeCache(program: Uint8Array, packed: Buffer): Buffer | undefined {
  return hash(program).equals(packed.subarray(0, hashBytes)) ? packed.subarray(hashBytes) : undefined
}
