import { clockInDoubt } from '../../base/network/certificate-time.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at its address; check that the server runs, and its port',
  ENOTFOUND: 'its host name is not known; check its address and the DNS',
  EAI_AGAIN: 'its host name cannot be looked up now; check the network',
  ENETUNREACH: 'there is no way to its network; check the network',
  EHOSTUNREACH: 'there is no way to its computer; check the network',
  ECONNRESET: 'the connection was cut off; try again later',
  ETIMEDOUT: 'its computer does not answer; check its address',
}

/** Why a file of a repository could not be fetched, and what to do. `now`: as certificates are measured by, that of the system. */
export function networkReason(path: string, error: unknown, now: number): string {
  const code = systemErrorCode(error) ?? ''
  const reason = reasons[code]
  if (reason !== undefined) return reason
  const doubt = clockInDoubt(messageOf(error), now)
  if (doubt !== undefined) {
    return `the time of its certificate is not now (${code}): ${doubt}; set the clock, or use a certificate that is valid`
  }
  if (code.includes('CERT') || code.includes('SSL') || code.includes('TLS')) {
    return `its certificate is not accepted (${code}); use one that is valid`
  }
  if (code.startsWith('HPE_')) {
    return `it answers ${path} against the rules of HTTP (${code}); check the server`
  }
  const text = messageOf(error)
  return `${path} could not be fetched (${code === '' ? text : code}); try again later`
}
