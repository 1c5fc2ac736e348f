/** What OpenSSL says, in front of the place in its source: `…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:…`. */
const tlsReason = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:\n]+)/
const noTls = /^(wrong version number|packet length too long|http request|unknown protocol)$/
const oldTls = /^(unsupported protocol|tlsv1 alert protocol version)$/
const wantsCertificate = /^tlsv13 alert certificate required$/

/** What an error of TLS with `host` (a name, or what it is) means, in front of OpenSSL's own words. Undefined: it is none of OpenSSL's. */
export function tlsErrorMessage(message: string, host: string): string | undefined {
  const [, reason] = tlsReason.exec(message) ?? []
  if (reason === undefined) return undefined
  if (noTls.test(reason)) return `what answers at ${host} does not speak TLS: ${reason}`
  if (oldTls.test(reason)) return `${host} speaks only versions of TLS that are too old: ${reason}`
  if (wantsCertificate.test(reason))
    return `${host} asks who connects for a certificate, and this host has none to show: ${reason}`
  return `TLS with ${host} failed: ${reason}`
}
