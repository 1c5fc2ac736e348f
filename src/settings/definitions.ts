import { logLevels } from '../base/log/log.ts'

/** Name, flag, variable and meaning of each setting (contract, section 1). */

export interface Definition {
  flag: string
  variable: string
  /** What counts when nothing is given. */
  fallback?: string
  meaning: string
  /** The flag takes no value. */
  isSwitch?: boolean
}

const table = {
  dataDirectory: {
    flag: 'data-dir',
    variable: 'HOST_DATA_DIR',
    fallback: '.',
    meaning: 'holds .host.json, the journal, plugins/ and the key-value stores',
  },
  hostId: {
    flag: 'id',
    variable: 'HOST_ID',
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
  publicUrl: {
    flag: 'public-url',
    variable: 'HOST_PUBLIC_URL',
    meaning:
      'how the host is reached from outside, through a proxy: https://home.example.com, or with the path below which it shows the host; addresses of plugins begin so',
  },
  trustedProxies: {
    flag: 'trusted-proxies',
    variable: 'HOST_TRUSTED_PROXIES',
    meaning: 'addresses or networks of proxies whose X-Forwarded-For is believed, comma separated',
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
    meaning: 'bearer token of the HTTP API and password of the broker',
  },
  tokenFile: {
    flag: 'token-file',
    variable: 'HOST_TOKEN_FILE',
    meaning: 'file that holds the token; "lupine token" makes it',
  },
  tlsCertFile: {
    flag: 'tls-cert-file',
    variable: 'HOST_TLS_CERT_FILE',
    meaning: 'certificate (PEM): HTTP and the embedded broker speak TLS only',
  },
  tlsKeyFile: {
    flag: 'tls-key-file',
    variable: 'HOST_TLS_KEY_FILE',
    meaning: 'private key (PEM) of the certificate',
  },
  secretKeyFile: {
    flag: 'secret-key-file',
    variable: 'HOST_SECRET_KEY_FILE',
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
    meaning: 'pretty or json; default: pretty on a terminal, else json',
  },
  isolation: {
    flag: 'isolation',
    variable: 'HOST_ISOLATION',
    fallback: 'auto',
    meaning:
      'auto: shared workers, and one of its own for who needs it; dedicated: one for each plugin; shared: as few as go, for hundreds of plugins',
  },
  safeMode: {
    flag: 'safe',
    variable: 'HOST_SAFE_MODE',
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
    meaning: 'JSON map from limit to number, for all plugins: {"memory": 256}',
  },
  pluginEnvironment: {
    flag: 'plugin-environment',
    variable: 'HOST_PLUGIN_ENVIRONMENT',
    meaning:
      'the only variables that plugins may read: names, or beginnings ending in *, with commas; empty: none',
  },
  httpRewrite: {
    flag: 'http-rewrite',
    variable: 'HOST_HTTP_REWRITE',
    meaning: "JSON map from origin to origin for the plugins' own HTTP requests",
  },
  fleetUrl: {
    flag: 'fleet-url',
    variable: 'HOST_FLEET_URL',
    meaning:
      'work as one with other hosts: addresses of their store (NATS with JetStream): nats, tls, ws or wss, comma separated',
  },
  fleet: {
    flag: 'fleet',
    variable: 'HOST_FLEET',
    fallback: 'lupine',
    meaning: 'name of the fleet',
  },
  labels: {
    flag: 'labels',
    variable: 'HOST_LABELS',
    meaning: 'what this host has, for plugins that ask for it: serial,cellar',
  },
  fleetCredentialsFile: {
    flag: 'fleet-credentials-file',
    variable: 'HOST_FLEET_CREDENTIALS_FILE',
    meaning: 'login at the store: credentials of NATS',
  },
  fleetPasswordFile: {
    flag: 'fleet-password-file',
    variable: 'HOST_FLEET_PASSWORD_FILE',
    meaning: 'login at the store: a line user:password',
  },
  fleetCaFile: {
    flag: 'fleet-ca-file',
    variable: 'HOST_FLEET_CA_FILE',
    meaning: "certificates (PEM) that may sign the store's",
  },
} satisfies Record<string, Definition>

export type SettingName = keyof typeof table
export const definitions: Readonly<Record<SettingName, Definition>> = table
export const settingNames = Object.keys(definitions) as SettingName[]

/** A setting that cannot be used; the message is one line that says what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** Characters of a value that is refused: enough to know it again. */
const mostShown = 200

/** An error with both names of the setting. `expected` completes "it must be …". */
export function invalid(name: SettingName, value: string | undefined, expected: string): SettingsError {
  const { flag, variable } = definitions[name]
  const start = value?.slice(0, mostShown)
  const shown = start === undefined ? 'missing' : `${JSON.stringify(start)}${start === value ? '' : '…'}`
  return new SettingsError(`${variable} (--${flag}) is ${shown}; it must be ${expected}.`)
}
