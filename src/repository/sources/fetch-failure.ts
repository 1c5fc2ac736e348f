import { certificateClockHint } from '../../base/network/certificate-clock-hint.ts'
import { unreachableReason } from '../../base/network/unreachable-reason.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'

/** Why a file of a repository could not be fetched, and what to do. `now`: as certificates are measured by, that of the system. */
export function fetchFailureReason(path: string, error: unknown, now: number): string {
  const code = systemErrorCode(error) ?? ''
  const reason = unreachableReason(code)
  if (reason !== undefined) return reason
  if (code === 'ECONNRESET') return 'the connection was cut off; try again later'
  const doubt = certificateClockHint(messageOf(error), now)
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
