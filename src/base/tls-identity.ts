import { createSecureContext } from 'node:tls'
import { messageOf } from './problem.ts'

/** What a server shows of itself on encrypted connections. */
export interface TlsIdentity {
  /** PEM: the certificate, and those that signed it. */
  certificate: string
  /** PEM, without a passphrase. */
  key: string
}

/** What is wrong with it; undefined: nothing. The words hold nothing of the key. */
export function tlsFault(identity: TlsIdentity): string | undefined {
  try {
    createSecureContext(secureOptions(identity))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Options of a server with this identity. */
export function secureOptions({ certificate, key }: TlsIdentity) {
  return { cert: certificate, key, minVersion: 'TLSv1.2' } as const
}
