const schemes: ReadonlySet<string> = new Set(['mqtt:', 'mqtts:', 'ws:', 'wss:'])

/** Where another broker is, and how to log in there. */
export interface BrokerUrl {
  /** Without user name and password. */
  address: string
  username?: string
  password?: string
}

/** What an address of a broker has to be. */
export const brokerUrlExpected =
  'like mqtt://broker:1883 (mqtt, mqtts, ws or wss, a host, and a port up to 65535)'

/** Splits the credentials off, so that no log line and no answer shows them. Throws an Error that says what to do. */
export function parseBrokerUrl(text: string): BrokerUrl {
  const url = readBrokerUrl(text)
  if (url === undefined) throw new Error(`HOST_MQTT_URL must be ${brokerUrlExpected}`)
  const { username, password } = url
  url.username = ''
  url.password = ''
  return {
    address: url.href.replace(/\/$/, ''),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}

/** Undefined where it is not the address of a broker. */
export function readBrokerUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && schemes.has(url.protocol) && url.hostname !== '' ? url : undefined
}
