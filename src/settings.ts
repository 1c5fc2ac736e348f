import { parseArgs } from 'node:util'
import { isJsonObject } from './base/json.ts'
import { type LogLevel, logLevels } from './base/log.ts'
import { messageOf } from './base/problem.ts'
import { type ChosenLimits, readChosenLimits } from './schema/plugin-limits.ts'

/** The settings of the host (contract, section 1). Pure: what the environment and the flags say. */

export interface Settings {
  /** As given; relative to the working directory. */
  dataDirectory: string
  /** undefined: the stored one, or a new random one. */
  hostId: string | undefined
  httpBind: string
  httpPort: number
  mqttBind: string
  mqttPort: number
  /** undefined: the embedded broker. */
  mqttUrl: string | undefined
  mqttRoot: string
  /** Clients of the embedded broker at a time. */
  mqttConnections: number
  /** Of one address other than this machine's. */
  mqttConnectionsPerAddress: number
  token: string | undefined
  tokenFile: string | undefined
  /** Certificate (PEM, with those that signed it) and its key: both or neither. */
  tlsCertFile: string | undefined
  tlsKeyFile: string | undefined
  /** Keys that encrypt secrets in the data directory; undefined: they are in plain text. */
  secretKeyFile: string | undefined
  logLevel: LogLevel
  logFormat: 'pretty' | 'json'
  isolation: 'dedicated' | 'shared'
  /** No plugin is loaded, but everything can be changed. */
  safeMode: boolean
  /** Empty: no Home Assistant discovery. */
  discoveryPrefix: string
  /** Origin to origin, for the plugins' own HTTP requests. */
  httpRewrite: Record<string, string>
  /** What every plugin may take for which nothing else is set. */
  pluginLimits: ChosenLimits
}

/** A setting that cannot be used; the message is one line that says what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

interface Definition {
  flag: string
  variable: string
  fallback: string | undefined
  meaning: string
  /** The flag takes no value. */
  isSwitch?: boolean
}

const definitions = {
  dataDirectory: {
    flag: 'data-dir',
    variable: 'HOST_DATA_DIR',
    fallback: '.',
    meaning: 'holds .host.json, the journal, plugins/ and the key-value stores',
  },
  hostId: {
    flag: 'id',
    variable: 'HOST_ID',
    fallback: undefined,
    meaning: 'name of this host in a fleet; default: a stored random id',
  },
  httpBind: {
    flag: 'http-bind',
    variable: 'HOST_HTTP_BIND',
    fallback: '127.0.0.1',
    meaning: 'address of the HTTP API',
  },
  httpPort: {
    flag: 'http-port',
    variable: 'HOST_HTTP_PORT',
    fallback: '3000',
    meaning: 'port of the HTTP API; 0: any free port',
  },
  mqttBind: {
    flag: 'mqtt-bind',
    variable: 'HOST_MQTT_BIND',
    fallback: '127.0.0.1',
    meaning: 'address of the embedded broker',
  },
  mqttPort: {
    flag: 'mqtt-port',
    variable: 'HOST_MQTT_PORT',
    fallback: '1883',
    meaning: 'port of the embedded broker; 0: any free port',
  },
  mqttUrl: {
    flag: 'mqtt-url',
    variable: 'HOST_MQTT_URL',
    fallback: undefined,
    meaning: 'use this external broker instead (mqtt://, mqtts://, ws://, wss://)',
  },
  mqttRoot: {
    flag: 'mqtt-root',
    variable: 'HOST_MQTT_ROOT',
    fallback: 'host',
    meaning: "first level(s) of the host's topics",
  },
  mqttConnections: {
    flag: 'mqtt-connections',
    variable: 'HOST_MQTT_CONNECTIONS',
    fallback: '2000',
    meaning: 'clients of the embedded broker at a time; each takes a file descriptor',
  },
  mqttConnectionsPerAddress: {
    flag: 'mqtt-connections-per-address',
    variable: 'HOST_MQTT_CONNECTIONS_PER_ADDRESS',
    fallback: '250',
    meaning: "of those, of one address other than this machine's",
  },
  token: {
    flag: 'token',
    variable: 'HOST_TOKEN',
    fallback: undefined,
    meaning: 'bearer token of the HTTP API and password of the broker',
  },
  tokenFile: {
    flag: 'token-file',
    variable: 'HOST_TOKEN_FILE',
    fallback: undefined,
    meaning: 'file that holds the token',
  },
  tlsCertFile: {
    flag: 'tls-cert-file',
    variable: 'HOST_TLS_CERT_FILE',
    fallback: undefined,
    meaning: 'certificate (PEM): HTTP and the embedded broker speak TLS only',
  },
  tlsKeyFile: {
    flag: 'tls-key-file',
    variable: 'HOST_TLS_KEY_FILE',
    fallback: undefined,
    meaning: 'private key (PEM) of the certificate',
  },
  secretKeyFile: {
    flag: 'secret-key-file',
    variable: 'HOST_SECRET_KEY_FILE',
    fallback: undefined,
    meaning: 'keys that encrypt secrets in the data directory; "lupine secret-key" makes it',
  },
  logLevel: {
    flag: 'log-level',
    variable: 'HOST_LOG_LEVEL',
    fallback: 'info',
    meaning: logLevels.join(', '),
  },
  logFormat: {
    flag: 'log-format',
    variable: 'HOST_LOG_FORMAT',
    fallback: undefined,
    meaning: 'pretty or json; default: pretty on a terminal, else json',
  },
  isolation: {
    flag: 'isolation',
    variable: 'HOST_ISOLATION',
    fallback: 'dedicated',
    meaning: 'dedicated: one worker a plugin; shared: many plugins in few workers',
  },
  safeMode: {
    flag: 'safe',
    variable: 'HOST_SAFE_MODE',
    fallback: undefined,
    meaning: 'load no plugin, but let everything be changed; as a variable: true or false',
    isSwitch: true,
  },
  discoveryPrefix: {
    flag: 'discovery-prefix',
    variable: 'HOST_DISCOVERY_PREFIX',
    fallback: 'homeassistant',
    meaning: 'first level of Home Assistant discovery; empty: none',
  },
  pluginLimits: {
    flag: 'plugin-limits',
    variable: 'HOST_PLUGIN_LIMITS',
    fallback: undefined,
    meaning: 'JSON map from limit to number, for all plugins: {"memory": 256}',
  },
  httpRewrite: {
    flag: 'http-rewrite',
    variable: 'HOST_HTTP_REWRITE',
    fallback: undefined,
    meaning: "JSON map from origin to origin for the plugins' own HTTP requests",
  },
} as const satisfies Record<string, Definition>

type SettingName = keyof typeof definitions
const names = Object.keys(definitions) as SettingName[]

/** Commands about `HOST_SECRET_KEY_FILE`, which they need. */
export type SecretCommand = 'secret-key' | 'rotate-key' | 'decrypt'

const commands = ['start', 'repair', 'secret-key', 'rotate-key', 'decrypt'] as const

/** Commands for those who publish plugins; they concern no host and no setting. */
export type PublishingCommand =
  | { command: 'keygen'; file: string }
  /** `keyFile`: undefined for minisign's own place. */
  | { command: 'sign'; folder: string; keyFile: string | undefined; hashesOnly: boolean }

export type CommandLine =
  | { command: 'start'; settings: Settings }
  | { command: 'repair' | SecretCommand; settings: Settings }
  | PublishingCommand
  | { command: 'help' }
  | { command: 'version' }

/** Reads flags and environment; a flag wins. Throws `SettingsError`. */
export function parseCommandLine(
  commandLine: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): CommandLine {
  const { values, positionals } = readFlags(commandLine)
  if (values.help === true) return { command: 'help' }
  if (values.version === true) return { command: 'version' }
  const [given = 'start', ...rest] = positionals
  if (given === 'keygen' || given === 'sign') return readPublishingCommand(given, rest, values)
  const stray = ['key', 'hashes-only'].find((flag) => values[flag] !== undefined)
  if (stray !== undefined) throw new SettingsError(`--${stray} belongs to "lupine sign"; see lupine --help.`)
  const command = commands.find((name) => name === given)
  if (command === undefined || rest.length > 0) {
    throw new SettingsError(`Unknown command ${JSON.stringify(positionals.join(' '))}; see lupine --help.`)
  }
  const text = (name: SettingName): string | undefined => {
    const { flag, variable, fallback } = definitions[name]
    const value = values[flag] === true ? 'true' : values[flag]
    return typeof value === 'string' ? value : (environment[variable] ?? fallback)
  }
  const settings = readSettings(text, isTerminal)
  if (command !== 'start' && command !== 'repair' && settings.secretKeyFile === undefined) {
    throw bad('secretKeyFile', undefined, 'set for this command')
  }
  return { command, settings }
}

function readPublishingCommand(
  command: 'keygen' | 'sign',
  operands: readonly string[],
  { key, 'hashes-only': hashesOnly = false, ...others }: Record<string, unknown>,
): PublishingCommand {
  const [place = '', ...rest] = operands
  const usage = command === 'keygen' ? 'keygen FILE' : 'sign FOLDER [--key FILE] [--hashes-only]'
  const isRight =
    place !== '' &&
    rest.length === 0 &&
    Object.keys(others).length === 0 &&
    key !== '' &&
    (command === 'sign' || (key === undefined && hashesOnly === false))
  if (!isRight) throw new SettingsError(`The command is: lupine ${usage}; see lupine --help.`)
  if (command === 'keygen') return { command, file: place }
  return {
    command,
    folder: place,
    keyFile: typeof key === 'string' ? key : undefined,
    hashesOnly: hashesOnly === true,
  }
}

function readFlags(commandLine: readonly string[]): {
  values: Record<string, unknown>
  positionals: string[]
} {
  try {
    return parseArgs({
      args: [...commandLine],
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        key: { type: 'string' },
        'hashes-only': { type: 'boolean' },
        ...Object.fromEntries(
          names.map((name) => {
            const { flag, isSwitch = false }: Definition = definitions[name]
            return [flag, { type: isSwitch ? ('boolean' as const) : ('string' as const) }]
          }),
        ),
      },
      allowPositionals: true,
    })
  } catch (error) {
    throw new SettingsError(`${messageOf(error).split(/\.\s/)[0]?.replace(/\s+/g, ' ')}; see lupine --help.`)
  }
}

function readSettings(text: (name: SettingName) => string | undefined, isTerminal: boolean): Settings {
  const required = (name: SettingName): string => {
    const value = text(name)
    if (value === undefined || value === '') throw bad(name, value, 'a value')
    return value
  }
  return {
    dataDirectory: required('dataDirectory'),
    hostId: readHostId(text('hostId')),
    httpBind: required('httpBind'),
    httpPort: readPort('httpPort', required('httpPort')),
    mqttBind: required('mqttBind'),
    mqttPort: readPort('mqttPort', required('mqttPort')),
    mqttUrl: readMqttUrl(text('mqttUrl')),
    mqttRoot: readRoot(required('mqttRoot')),
    mqttConnections: readCount('mqttConnections', required('mqttConnections')),
    mqttConnectionsPerAddress: readCount('mqttConnectionsPerAddress', required('mqttConnectionsPerAddress')),
    token: readToken(text('token')),
    tokenFile: text('tokenFile') || undefined,
    ...readTlsFiles(text('tlsCertFile') || undefined, text('tlsKeyFile') || undefined),
    secretKeyFile: text('secretKeyFile') || undefined,
    logLevel: oneOf('logLevel', required('logLevel'), logLevels),
    logFormat: oneOf('logFormat', text('logFormat') || (isTerminal ? 'pretty' : 'json'), ['pretty', 'json']),
    isolation: oneOf('isolation', required('isolation'), ['dedicated', 'shared']),
    safeMode: readSwitch('safeMode', text('safeMode')),
    discoveryPrefix: readPrefix(text('discoveryPrefix') ?? ''),
    httpRewrite: readRewrite(text('httpRewrite')),
    pluginLimits: readPluginLimits(text('pluginLimits')),
  }
}

function bad(name: SettingName, value: string | undefined, expected: string): SettingsError {
  const { flag, variable } = definitions[name]
  const shown = value === undefined ? 'missing' : JSON.stringify(value)
  return new SettingsError(`${variable} (--${flag}) is ${shown}; it must be ${expected}.`)
}

/** Whether this text fits into an `Authorization` header as it is. */
export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

function readToken(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  // It is a secret: it is not repeated.
  if (!isTokenText(value))
    throw new SettingsError('HOST_TOKEN (--token) must be of visible ASCII characters, without spaces.')
  return value
}

function readTlsFiles(tlsCertFile: string | undefined, tlsKeyFile: string | undefined) {
  if (tlsCertFile !== undefined && tlsKeyFile === undefined)
    throw bad('tlsKeyFile', undefined, 'set, as well')
  if (tlsKeyFile !== undefined && tlsCertFile === undefined)
    throw bad('tlsCertFile', undefined, 'set, as well')
  return { tlsCertFile, tlsKeyFile }
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['', false],
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
])

function readSwitch(name: SettingName, value = ''): boolean {
  const on = switchWords.get(value.toLowerCase())
  if (on === undefined) throw bad(name, value, 'true or false')
  return on
}

function readHostId(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(value)) {
    throw bad('hostId', value, '1 to 64 letters, digits, _ and -')
  }
  return value
}

function readPort(name: 'httpPort' | 'mqttPort', value: string): number {
  const port = Number(value)
  if (!/^\d+$/.test(value) || port > 65_535) throw bad(name, value, 'a port number from 0 to 65535')
  return port
}

/** More connections than any process has ports and memory for. */
const mostConnections = 100_000

function readCount(name: 'mqttConnections' | 'mqttConnectionsPerAddress', value: string): number {
  const count = Number(value)
  if (!/^\d+$/.test(value) || count < 1 || count > mostConnections) {
    throw bad(name, value, `a number from 1 to ${mostConnections}`)
  }
  return count
}

const mqttProtocols = ['mqtt:', 'mqtts:', 'ws:', 'wss:']

function readMqttUrl(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  if (!URL.canParse(value) || !mqttProtocols.includes(new URL(value).protocol)) {
    // The value may hold a password: it is not repeated.
    throw new SettingsError(
      'HOST_MQTT_URL (--mqtt-url) must be an mqtt://, mqtts://, ws:// or wss:// address.',
    )
  }
  return value
}

function readRoot(value: string): string {
  if (/[+#\0]/.test(value) || value.startsWith('$') || value.split('/').includes('')) {
    throw bad('mqttRoot', value, 'one or more topic levels without +, # or a leading $')
  }
  return value
}

function readPrefix(value: string): string {
  if (/[+#\0]/.test(value) || (value !== '' && value.split('/').includes(''))) {
    throw bad('discoveryPrefix', value, 'topic levels without + and #, or empty')
  }
  return value
}

function oneOf<T extends string>(name: SettingName, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw bad(name, value, allowed.join(' or '))
  return found
}

function readPluginLimits(value: string | undefined): ChosenLimits {
  if (value === undefined || value === '') return {}
  let given: unknown
  try {
    given = JSON.parse(value)
  } catch {
    throw bad('pluginLimits', value, 'a JSON map such as {"memory": 256}')
  }
  const { chosen, errors } = readChosenLimits(given, '')
  const [first] = errors
  if (first !== undefined)
    throw bad('pluginLimits', value, `a JSON map of limits; ${first.path.slice(1)} ${first.message}`.trim())
  return chosen
}

function readRewrite(value: string | undefined): Record<string, string> {
  if (value === undefined || value === '') return {}
  const expected =
    'a JSON object from origin to origin, such as {"https://api.example.com": "http://127.0.0.1:8080"}'
  let map: unknown
  try {
    map = JSON.parse(value)
  } catch {
    throw bad('httpRewrite', value, expected)
  }
  if (!isJsonObject(map)) throw bad('httpRewrite', value, expected)
  const rewrite: Record<string, string> = {}
  for (const [from, to] of Object.entries(map)) {
    if (typeof to !== 'string' || !isOrigin(from) || !isOrigin(to)) throw bad('httpRewrite', value, expected)
    rewrite[new URL(from).origin] = new URL(to).origin
  }
  return rewrite
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.pathname === '/' && url.search === ''
}

/** Text of `lupine --help`. */
export function helpText(): string {
  const rows = names.map((name) => {
    const { flag, variable, fallback, meaning } = definitions[name]
    return {
      left: `--${flag}`,
      middle: variable,
      right: `${meaning}${fallback ? ` (default ${fallback})` : ''}`,
    }
  })
  const width = Math.max(...rows.map(({ left }) => left.length))
  const middleWidth = Math.max(...rows.map(({ middle }) => middle.length))
  return [
    'Usage: lupine [start] [flags]    run the host',
    '       lupine repair [flags]     cut a damaged journal, keeping a copy',
    '       lupine secret-key --secret-key-file FILE   make a key for secrets, or put a new one on top',
    '       lupine rotate-key [flags] encrypt all secrets with the first key of the file',
    '       lupine decrypt [flags]    write all secrets in plain text again',
    '       lupine keygen FILE        make a key to sign a repository with, and show its public half',
    '       lupine sign FOLDER [--key FILE] [--hashes-only]   fill in the hashes of its index, and sign it',
    '       lupine --help | --version',
    '',
    'Every flag has an environment variable; the flag wins.',
    '',
    ...rows.map(
      ({ left, middle, right }) => `  ${left.padEnd(width)}  ${middle.padEnd(middleWidth)}  ${right}`,
    ),
  ].join('\n')
}
