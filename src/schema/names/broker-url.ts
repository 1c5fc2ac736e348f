const schemes: ReadonlySet<string> = new Set(['mqtt:', 'mqtts:', 'ws:', 'wss:'])

/** Where another broker is, and how to log in there. */
export interface BrokerUrl {
  /** Without user name and password. The query of a WebSocket address stays, which may hold a token. */
  address: string
  /** What logs and answers show: without the query, too. */
  shown: string
  username?: string
  password?: string
}

const escapes = 'in a user name or a password write / as %2F, # as %23, ? as %3F and @ as %40'

/** Splits off what no log line and no answer is to show. Throws an Error that says what to do. */
export function parseBrokerUrl(text: string): BrokerUrl {
  const problem = brokerUrlProblem(text)
  if (problem !== undefined) throw new Error(`HOST_MQTT_URL ${problem}`)
  const url = new URL(text)
  const { username, password } = url
  url.username = ''
  url.password = ''
  const address = textOf(url)
  url.search = ''
  return {
    address,
    shown: textOf(url),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}

const defaultPorts: Readonly<Record<string, string>> = { 'mqtt:': '1883', 'mqtts:': '8883' }

/** How a broker is remembered, without any login: another way to write the same address has the same name. */
export function brokerName(text: string | undefined): string {
  if (text === undefined) return 'embedded'
  const { shown } = parseBrokerUrl(text)
  const { protocol, hostname, port, pathname } = new URL(shown)
  // A URL leaves the port out by itself where it knows the scheme, and small letters alone there, too.
  const shownPort = port === '' || port === defaultPorts[protocol] ? '' : `:${port}`
  return `${protocol}//${hostname.toLowerCase()}${shownPort}${pathname === '/' ? '' : pathname}`
}

/** Without the slash that a URL has in place of an empty path. */
function textOf({ href, pathname, search }: URL): string {
  return pathname === '/' && search === '' ? href.replace(/\/$/, '') : href
}

/**
 * What is wrong with the address of a broker, and what to do, to follow the name of the setting. Undefined: nothing. It
 * repeats nothing of the address, which may hold a password at any place.
 */
export function brokerUrlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !schemes.has(url.protocol) || url.hostname === '')
    return `must be like mqtt://broker:1883 (mqtt, mqtts, ws or wss, a host, and a port up to 65535)${text.includes('@') ? `; ${escapes}` : ''}`
  if (!isPercentEncoded(url.username) || !isPercentEncoded(url.password))
    return 'has a % in the user name or the password that begins no escape of UTF-8; write % as %25 there'
  return partsProblem(text, url)
}

/**
 * An unescaped `/`, `?` or `#` in a password ends what the URL takes for the host: the rest of the password would be a path,
 * a query or a fragment, and be shown or sent as such.
 */
function partsProblem(text: string, { protocol, pathname, search }: URL): string | undefined {
  const isWebSocket = protocol === 'ws:' || protocol === 'wss:'
  // An empty query or fragment leaves no trace in the URL.
  if (!isWebSocket && ((pathname !== '' && pathname !== '/') || /[?#]/.test(text)))
    return `must have no path, query or fragment behind an mqtt:// or mqtts:// host; ${escapes}`
  if (text.includes('#')) return `must have no fragment; ${escapes}`
  // Most likely the end of a login; who means a path or a query can write it as an escape.
  if (pathname.includes('@') || search.includes('@')) return `must have no @ behind the host; ${escapes}`
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
