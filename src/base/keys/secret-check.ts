import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Whether what somebody gives is the secret. Digests are compared, which have one length: how long it takes tells
 * nothing of the secret, not even its length. The one place where a secret that people give is compared.
 */
export function createSecretCheck(secret: string): (given: string | Uint8Array) => boolean {
  const expected = digest(secret)
  return (given) => timingSafeEqual(digest(given), expected)
}

function digest(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest()
}
