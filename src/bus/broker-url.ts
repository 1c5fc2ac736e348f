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
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !schemes.has(url.protocol) || url.hostname === '') {
    throw new Error('HOST_MQTT_URL must be like mqtt://broker:1883 (mqtt, mqtts, ws or wss)')
  }
  const { username, password } = url
  url.username = ''
  url.password = ''
  return {
    address: url.href.replace(/\/$/, ''),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}
