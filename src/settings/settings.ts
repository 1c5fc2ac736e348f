import { type LogLevel, logLevels } from '../base/log/log.ts'
import type { ChosenLimits } from '../schema/plugin/plugin-limits.ts'
import { definitions, type SettingName, SettingsError } from './definitions.ts'
import { type FleetSettings, readFleetSettings, readMemberId } from './fleet-settings.ts'
import {
  oneOf,
  readBind,
  readCount,
  readDataDirectory,
  readHostId,
  readMqttUrl,
  readPluginEnvironment,
  readPluginLimits,
  readPort,
  readPrefix,
  readPublicUrl,
  readRewrite,
  readRoot,
  readSwitch,
  readTlsFiles,
  readToken,
  readTrustedProxies,
} from './values.ts'

/** The settings of the host (contract, section 1). Pure: what the environment and the flags say. */

export interface Settings {
  /** As given; relative to the working directory. */
  dataDirectory: string
  /** undefined: the stored one, or a new random one. */
  hostId: string | undefined
  httpBind: string
  httpPort: number
  /** Without a slash at the end; undefined: the address that is listened at. */
  publicUrl: string | undefined
  /** Addresses and networks. */
  trustedProxies: readonly string[]
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
  isolation: 'dedicated' | 'auto' | 'shared'
  /** No plugin is loaded, but everything can be changed. */
  safeMode: boolean
  /** Empty: no Home Assistant discovery. */
  discoveryPrefix: string
  /** Origin to origin, for the plugins' own HTTP requests. */
  httpRewrite: Record<string, string>
  /** What every plugin may take for which nothing else is set. */
  pluginLimits: ChosenLimits
  /** Variables that the manifests of plugins may read; undefined: it is not set, and each says for itself. */
  pluginEnvironment: readonly string[] | undefined
  /** undefined: the host works by itself. */
  fleet: FleetSettings | undefined
}

/** `text`: what is given for a setting, or its default. Throws `SettingsError`. */
export function readSettings(text: (name: SettingName) => string | undefined, isTerminal: boolean): Settings {
  const required = (name: SettingName): string => {
    const value = text(name)
    if (value !== undefined && value !== '') return value
    // As where a file of variables takes it from another one that is not set.
    const { flag, variable, fallback } = definitions[name]
    throw new SettingsError(
      `${variable} (--${flag}) is empty; give it a value, or take it away: then it is "${fallback}".`,
    )
  }
  const optional = <T>(name: SettingName, read: (value: string) => T): T | undefined => {
    const value = text(name)
    return value === undefined || value === '' ? undefined : read(value)
  }
  const fleet = readFleetSettings(text)
  const settings: Settings = {
    dataDirectory: readDataDirectory(required('dataDirectory')),
    hostId: optional('hostId', fleet === undefined ? readHostId : readMemberId),
    httpBind: readBind('httpBind', required('httpBind')),
    httpPort: readPort('httpPort', required('httpPort')),
    publicUrl: optional('publicUrl', readPublicUrl),
    trustedProxies: readTrustedProxies(text('trustedProxies')),
    mqttBind: readBind('mqttBind', required('mqttBind')),
    mqttPort: readPort('mqttPort', required('mqttPort')),
    mqttUrl: optional('mqttUrl', readMqttUrl),
    mqttRoot: readRoot(required('mqttRoot')),
    mqttConnections: readCount('mqttConnections', required('mqttConnections')),
    mqttConnectionsPerAddress: readCount('mqttConnectionsPerAddress', required('mqttConnectionsPerAddress')),
    token: optional('token', readToken),
    tokenFile: text('tokenFile') || undefined,
    ...readTlsFiles(text('tlsCertFile') || undefined, text('tlsKeyFile') || undefined),
    secretKeyFile: text('secretKeyFile') || undefined,
    logLevel: oneOf('logLevel', required('logLevel'), logLevels),
    logFormat: oneOf('logFormat', text('logFormat') || (isTerminal ? 'pretty' : 'json'), ['pretty', 'json']),
    isolation: oneOf('isolation', required('isolation'), ['dedicated', 'auto', 'shared']),
    safeMode: readSwitch('safeMode', text('safeMode')),
    discoveryPrefix: readPrefix(text('discoveryPrefix') ?? ''),
    httpRewrite: optional('httpRewrite', readRewrite) ?? {},
    pluginLimits: optional('pluginLimits', readPluginLimits) ?? {},
    pluginEnvironment: readPluginEnvironment(text('pluginEnvironment')),
    fleet,
  }
  requireTwoPorts(settings)
  return settings
}

/** The host itself would be the program that has the port already, and a free one would be looked for elsewhere. */
function requireTwoPorts({ httpBind, httpPort, mqttBind, mqttPort, mqttUrl }: Settings): void {
  if (httpPort === 0 || httpPort !== mqttPort || httpBind !== mqttBind || mqttUrl !== undefined) return
  throw new SettingsError(
    `HOST_HTTP_PORT (--http-port) and HOST_MQTT_PORT (--mqtt-port) are both ${httpPort}; give each a port of its own. ` +
      'MQTT over WebSocket is at the HTTP port in any case, under /mqtt.',
  )
}
