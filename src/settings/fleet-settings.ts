import { hostOfAddress, isLoopback } from '../base/network/loopback.ts'
import { isFleetName } from '../schema/plugin/fleet-host.ts'
import { invalid, type SettingName, SettingsError } from './definitions.ts'
import { partsOfList } from './values.ts'

/** What the settings of a fleet may be (contract, section 9). Each function throws `SettingsError`: one line that says what to do. */

export interface FleetSettings {
  /** Addresses of the store. */
  servers: readonly string[]
  fleet: string
  /** What this host has, for the placement of plugins. */
  labels: readonly string[]
  credentialsFile: string | undefined
  passwordFile: string | undefined
  caFile: string | undefined
}

const addressPattern = /^(nats|tls|ws|wss):\/\//

/** Undefined: no fleet is asked for. */
export function readFleetSettings(
  text: (name: SettingName) => string | undefined,
): FleetSettings | undefined {
  const url = text('fleetUrl')
  if (url === undefined || url === '') return undefined
  const servers = readServers(url)
  const credentialsFile = text('fleetCredentialsFile') || undefined
  const passwordFile = text('fleetPasswordFile') || undefined
  if (credentialsFile !== undefined && passwordFile !== undefined) {
    throw new SettingsError(
      'HOST_FLEET_CREDENTIALS_FILE and HOST_FLEET_PASSWORD_FILE are two logins; give one of them.',
    )
  }
  const hasLogin = credentialsFile !== undefined || passwordFile !== undefined
  if (!hasLogin && !servers.every((server) => isLoopback(hostOfAddress(server)))) {
    throw new SettingsError(
      'HOST_FLEET_URL (--fleet-url) leads to another machine; that needs a login: HOST_FLEET_CREDENTIALS_FILE or HOST_FLEET_PASSWORD_FILE.',
    )
  }
  return {
    servers,
    fleet: readName('fleet', text('fleet') ?? ''),
    labels: readLabels(text('labels')),
    credentialsFile,
    passwordFile,
    caFile: text('fleetCaFile') || undefined,
  }
}

/** The name of a host in a fleet. */
export function readMemberId(value: string): string {
  return readName('hostId', value)
}

/** What a host that works in a fleet needs of the other settings. To join and leave needs no broker. */
export function requireForMember(needs: {
  mqttUrl: string | undefined
  secretKeyFile: string | undefined
}): void {
  if (needs.mqttUrl === undefined) {
    throw new SettingsError(
      'HOST_MQTT_URL (--mqtt-url) is missing; a fleet (HOST_FLEET_URL) needs one broker for all hosts.',
    )
  }
  if (needs.secretKeyFile === undefined) {
    throw new SettingsError(
      'HOST_SECRET_KEY_FILE (--secret-key-file) is missing; a fleet (HOST_FLEET_URL) needs it, with the same key on every host.',
    )
  }
}

function readName(name: 'fleet' | 'hostId', value: string): string {
  if (isFleetName(value)) return value
  throw invalid(name, value, '1 to 32 letters, digits, _ and - in a fleet')
}

function readLabels(value = ''): string[] {
  const labels = partsOfList(value)
  if (labels.every(isFleetName)) return [...new Set(labels)]
  throw invalid('labels', value, 'labels of 1 to 32 letters, digits, _ and -, with commas')
}

function readServers(value: string): string[] {
  const servers = partsOfList(value)
  // What is wrong may hold a password: it is not repeated.
  const expected = 'it must be nats://, tls://, ws:// or wss:// addresses with commas'
  for (const server of servers) {
    if (!addressPattern.test(server) || !URL.canParse(server) || hostOfAddress(server) === '') {
      throw new SettingsError(`HOST_FLEET_URL (--fleet-url) cannot be used; ${expected}.`)
    }
    const { username, password } = new URL(server)
    if (username !== '' || password !== '') {
      throw new SettingsError(
        'HOST_FLEET_URL (--fleet-url) has a login in it; put user:password into a file, and name it with HOST_FLEET_PASSWORD_FILE.',
      )
    }
  }
  if (servers.length === 0) throw new SettingsError(`HOST_FLEET_URL (--fleet-url) is empty; ${expected}.`)
  const overWebSocket = servers.filter((server) => /^wss?:/.test(server))
  if (overWebSocket.length > 0 && overWebSocket.length < servers.length) {
    throw new SettingsError(
      'HOST_FLEET_URL (--fleet-url) mixes WebSocket (ws, wss) with other addresses; give addresses of one kind.',
    )
  }
  return servers
}
