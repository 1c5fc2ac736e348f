import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { messageOf } from '../problem.ts'

/** What a server shows of itself on encrypted connections. */
export interface TlsIdentity {
  /** PEM: the certificate, and those that signed it. */
  certificate: string
  /** PEM, without a passphrase. */
  key: string
}

/** An identity that may be renewed while servers show it. */
export interface TlsSource {
  readonly identity: TlsIdentity
  /** Calls back with every later one. Answers how to stop that. */
  onRenewed(take: (identity: TlsIdentity) => void): () => void
}

/** Milliseconds since the epoch. */
export interface Validity {
  from: number
  until: number
}

const certificateBlocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** What is wrong with it; undefined: nothing. The words hold nothing of the key. */
export function tlsFault(identity: TlsIdentity): string | undefined {
  try {
    // The context below does without a key that is empty.
    const key = createPrivateKey(identity.key)
    if (!new X509Certificate(identity.certificate).checkPrivateKey(key))
      return 'the key is of another certificate'
    createSecureContext(secureOptions(identity))
    validityOf(identity)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** When all certificates of the file are valid. Throws when there is none that can be read. */
export function validityOf({ certificate }: TlsIdentity): Validity {
  const all = (certificate.match(certificateBlocks) ?? [certificate]).map((pem) => new X509Certificate(pem))
  return {
    from: Math.max(...all.map(({ validFrom }) => Date.parse(validFrom))),
    until: Math.min(...all.map(({ validTo }) => Date.parse(validTo))),
  }
}

/** Options of a server with this identity. */
export function secureOptions({ certificate, key }: TlsIdentity) {
  return { cert: certificate, key, minVersion: 'TLSv1.2' } as const
}

/** Has a server show the source's identity, and each that takes its place; answers how to stop that. */
export function followIdentity(
  server: { setSecureContext(options: SecureContextOptions): void },
  source: TlsSource,
): () => void {
  return source.onRenewed((identity) => server.setSecureContext(secureOptions(identity)))
}
