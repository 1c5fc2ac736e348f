import { isIP } from 'node:net'
import { trimEndOf } from '../base/text/trim-end.ts'
import { brokerUrlProblem } from '../schema/names/broker-url.ts'
import { parseNetwork } from '../base/network/client-address.ts'
import { isJsonObject } from '../base/text/json.ts'
import { type ChosenLimits, readChosenLimits } from '../schema/plugin/plugin-limits.ts'
import { variablePattern } from '../schema/parsing/variable-pattern.ts'
import { invalid, type SettingName, SettingsError } from './definitions.ts'

/** What the text of a setting may be. Each throws `SettingsError`. */

/** The parts of a list with commas; none is empty. */
export function partsOfList(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Whether this text fits into an `Authorization` header as it is. */
export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

export function readToken(value: string): string {
  // It is a secret: it is not repeated.
  if (!isTokenText(value))
    throw new SettingsError('HOST_TOKEN (--token) must be of visible ASCII characters, without spaces.')
  return value
}

export function readTlsFiles(tlsCertFile: string | undefined, tlsKeyFile: string | undefined) {
  if (tlsCertFile !== undefined && tlsKeyFile === undefined)
    throw invalid('tlsKeyFile', undefined, 'set, as well')
  if (tlsKeyFile !== undefined && tlsCertFile === undefined)
    throw invalid('tlsCertFile', undefined, 'set, as well')
  return { tlsCertFile, tlsKeyFile }
}

/** Whatever it is, it would be made, and a host without plugins would start in it. */
export function readDataDirectory(value: string): string {
  if (value.trim() !== value || /^~(\/|$)/.test(value)) {
    throw invalid(
      'dataDirectory',
      value,
      'a path without blanks around it, and without ~, which only shells know',
    )
  }
  // As from a unit of systemd, a file of Docker's, or a shell's single quotes.
  if (/^\$(\{|\w)/.test(value)) {
    throw invalid(
      'dataDirectory',
      value,
      'a path with the value of that variable written out, as nothing but a shell puts it there; ./ before it makes the $ a part of the name',
    )
  }
  return value
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['', false],
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
])

export function readSwitch(name: SettingName, value = ''): boolean {
  const on = switchWords.get(value.toLowerCase())
  if (on === undefined) throw invalid(name, value, 'true or false')
  return on
}

export function readHostId(value: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(value)) {
    throw invalid('hostId', value, '1 to 64 letters, digits, _ and -')
  }
  return value
}

/** An address that looks like none would be looked up as a name, and the start would blame the network. */
export function readBind(name: 'httpBind' | 'mqttBind', value: string): string {
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value) && /[A-Za-z]/.test(value)
  if (isIP(value) === 0 && !isName)
    throw invalid(name, value, 'an address of this machine, such as 127.0.0.1')
  return value
}

export function readPort(name: 'httpPort' | 'mqttPort', value: string): number {
  const port = Number(value)
  if (!/^\d+$/.test(value) || port > 65_535) throw invalid(name, value, 'a port number from 0 to 65535')
  return port
}

/** More connections than any process has ports and memory for. */
const mostConnections = 100_000

export function readCount(name: 'mqttConnections' | 'mqttConnectionsPerAddress', value: string): number {
  const count = Number(value)
  if (!/^\d+$/.test(value) || count < 1 || count > mostConnections) {
    throw invalid(name, value, `a number from 1 to ${mostConnections}`)
  }
  return count
}

export function readMqttUrl(value: string): string {
  // The value may hold a password: it is not repeated.
  const problem = brokerUrlProblem(value)
  if (problem !== undefined) throw new SettingsError(`HOST_MQTT_URL (--mqtt-url) ${problem}.`)
  return value
}

/** The broker takes a hundred levels in all, of which what follows the first ones needs some. */
const mostLevels = 50
/** In UTF-8. A topic has 65,535, and names of plugins and of what they have follow. */
const mostBytes = 1_000

function areTopicLevels(value: string): boolean {
  const levels = value.split('/')
  return (
    !/[+#\p{Cc}]/u.test(value) &&
    !value.startsWith('$') &&
    !levels.includes('') &&
    levels.length <= mostLevels &&
    Buffer.byteLength(value) <= mostBytes
  )
}

const levelsExpected = `topic levels, ${mostLevels} and ${mostBytes} bytes at most, without +, #, control characters and a leading $`

export function readRoot(value: string): string {
  if (!areTopicLevels(value)) throw invalid('mqttRoot', value, `one or more ${levelsExpected}`)
  return value
}

export function readPrefix(value: string): string {
  if (value !== '' && !areTopicLevels(value))
    throw invalid('discoveryPrefix', value, `${levelsExpected}, or empty`)
  return value
}

export function oneOf<T extends string>(name: SettingName, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw invalid(name, value, allowed.join(' or '))
  return found
}

export function readPublicUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isRight =
    url !== undefined &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    // The path goes into a cookie, and in front of paths: two slashes there would name another host.
    !/;|\/\//.test(trimEndOf(url.pathname, '/')) &&
    !/[?#]/.test(value)
  if (!isRight) {
    const expected =
      'an http:// or https:// address without user, ?, #, ; and empty parts of a path, such as https://home.example.com'
    // A password in it is not repeated, also where it keeps this from being an address.
    throw invalid('publicUrl', value.includes('@') ? 'an address with a password' : value, expected)
  }
  return trimEndOf(url.href, '/')
}

export function readTrustedProxies(value = ''): readonly string[] {
  const networks = partsOfList(value)
  if (networks.some((text) => parseNetwork(text) === undefined)) {
    throw invalid('trustedProxies', value, 'IP addresses or networks such as 10.0.0.0/8, comma separated')
  }
  return networks
}

export function readPluginLimits(value: string): ChosenLimits {
  let given: unknown
  try {
    given = JSON.parse(value)
  } catch {
    throw invalid('pluginLimits', value, 'a JSON map such as {"memory": 256}')
  }
  const { chosen, errors } = readChosenLimits(given, '')
  const [first] = errors
  if (first !== undefined) {
    // Of the whole there is no path.
    const place = first.path === '' ? 'it' : first.path.slice(1)
    throw invalid('pluginLimits', value, `a JSON map of limits; ${place} ${first.message}`)
  }
  return chosen
}

/** An empty text is a list, too: of nothing. */
export function readPluginEnvironment(value: string | undefined): string[] | undefined {
  if (value === undefined) return undefined
  const patterns = partsOfList(value)
  if (patterns.every((pattern) => variablePattern.test(pattern))) return patterns
  throw invalid(
    'pluginEnvironment',
    value,
    'names of variables, or beginnings of names ending in *, with commas',
  )
}

export function readRewrite(value: string): Record<string, string> {
  // It may hold a login where none belongs: it is not repeated.
  const problem = new SettingsError(
    'HOST_HTTP_REWRITE (--http-rewrite) must be a JSON object from origin to origin (http or https, host and port; no user, path, ? or #), such as {"https://api.example.com": "http://127.0.0.1:8080"}.',
  )
  let map: unknown
  try {
    map = JSON.parse(value)
  } catch {
    throw problem
  }
  if (!isJsonObject(map)) throw problem
  const rewrite: Record<string, string> = {}
  for (const [from, to] of Object.entries(map)) {
    if (typeof to !== 'string' || !isOrigin(from) || !isOrigin(to)) throw problem
    rewrite[new URL(from).origin] = new URL(to).origin
  }
  return rewrite
}

/** The slash of an empty path is no harm. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, href, origin } = new URL(text)
  // An empty query or fragment leaves no trace in its part of the URL, but in the whole.
  return (protocol === 'http:' || protocol === 'https:') && href === `${origin}/`
}
