import { ReasonCodes } from 'mqtt'
import { certificateClockHint } from '../../base/network/certificate-clock-hint.ts'
import { tlsErrorMessage } from '../../base/network/tls-error-message.ts'
import { unreachableReason } from '../../base/network/unreachable-reason.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'

const refusedLogin = /^Connection refused: (Not authorized|Bad username or password)$/
/** What later versions of Node advise after that: a flag for `node`, which who runs a host does not give. */
const advice = /; if the root CA is installed locally, .*$/
const untrusted = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY|UNABLE_TO_GET)/

/** The library gives up a connection over it. */
const unknownRefusal = /^Invalid (puback|pubrec) reason code$/
const tooLarge =
  'it has refused a message in a way that MQTT does not know, as Mosquitto does where one is larger than its message_size_limit; raise that there, or have less sent at once'

const wrongName = 'ERR_TLS_CERT_ALTNAME_INVALID'
const otherDoor =
  'it hung up before it had answered; mqtts:// and wss:// are for a port with TLS, mqtt:// and ws:// for one without, and each port takes either MQTT or WebSocket'

/** What the library says of silence, and what that can come from. */
const silences: ReadonlyMap<string, string> = new Map([
  [
    'connack timeout',
    'nobody has answered there for 10 s: a name server, the network on the way or the broker is silent',
  ],
  [
    'Keepalive timeout',
    'it has not answered any more, so it or the network on the way is gone without a word',
  ],
])

export interface BrokerFailureContext {
  /** Milliseconds since 1970, as certificates are measured by. */
  now: number
  /** Whether the broker had taken the connection. */
  wasConnected: boolean
}

/** Why a broker cannot be reached, and what to do where that is known. `error`: undefined when nobody said why the connection ended. */
export function brokerFailure(error: unknown, { now, wasConnected }: BrokerFailureContext): string {
  const message = error === undefined ? 'the connection was closed' : messageOf(error)
  const code = systemErrorCode(error)
  const silence = silences.get(message)
  if (silence !== undefined) return `${message}: ${silence}`
  if (!wasConnected && (error === undefined || code === 'ECONNRESET')) return `${message}: ${otherDoor}`
  if (unknownRefusal.test(message)) return `${message}: ${tooLarge}`
  const words = unreachableReason(code)
  if (words !== undefined) return `${message}: ${words}`
  if (code === wrongName)
    return `${message.trimEnd().replace(/:$/, '')}: HOST_MQTT_URL must name the broker as its certificate does`
  if (refusedLogin.test(message))
    return `${message}: it does not take the user name and password that HOST_MQTT_URL has, or this client`
  if (untrusted.test(code ?? ''))
    return `${message.replace(advice, '')}: NODE_EXTRA_CA_CERTS names a file with the certificate of an authority of your own`
  const doubt = certificateClockHint(message, now)
  return doubt === undefined ? (tlsErrorMessage(message, 'the broker') ?? message) : `${message}; ${doubt}`
}

/** What a broker says when it ends a connection (MQTT 5, section 3.14): by its reason code, and perhaps in its own words. */
export function disconnectReason(code: number | undefined, words: string | undefined): string {
  const known: Readonly<Record<number, string>> = ReasonCodes
  const sentence = `it has hung up: ${known[code ?? 0] || 'the connection was closed'}`
  return words === undefined ? sentence : `${sentence} (${words})`
}
