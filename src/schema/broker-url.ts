const schemes: ReadonlySet<string> = new Set(['mqtt:', 'mqtts:', 'ws:', 'wss:'])

/** Where another broker is, and how to log in there. */
export interface BrokerUrl {
  /** Without user name and password. */
  address: string
  username?: string
  password?: string
}

/** Splits the credentials off, so that no log line and no answer shows them. Throws an Error that says what to do. */
export function parseBrokerUrl(text: string): BrokerUrl {
  const problem = brokerUrlProblem(text)
  if (problem !== undefined) throw new Error(`HOST_MQTT_URL ${problem}`)
  const url = new URL(text)
  const { username, password } = url
  url.username = ''
  url.password = ''
  return {
    address: url.href.replace(/\/$/, ''),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}

/**
 * What is wrong with the address of a broker, and what to do, to follow the name of the setting. Undefined: nothing. It
 * repeats nothing of the address, which may hold a password at any place.
 */
export function brokerUrlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !schemes.has(url.protocol) || url.hostname === '')
    return 'must be like mqtt://broker:1883 (mqtt, mqtts, ws or wss, a host, and a port up to 65535)'
  if (!isPercentEncoded(url.username) || !isPercentEncoded(url.password))
    return 'has a % in the user name or the password that begins no escape of UTF-8; write % as %25 there'
  return undefined
}

/** A URL may hold a stray `%`; `decodeURIComponent` throws at it. */
function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
