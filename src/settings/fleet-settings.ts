import { hostOfAddress, isLoopback } from '../base/loopback.ts'
import { SettingsError } from './definitions.ts'

/**
 * The settings of a fleet (contract, section 9). No command and no start reads them yet: a host that is started works by
 * itself.
 */
export const fleetDefinitions = {
  fleetUrl: {
    flag: 'fleet-url',
    variable: 'HOST_FLEET_URL',
    fallback: undefined,
    meaning: 'addresses of the store (NATS with JetStream) of a fleet: nats, tls, ws or wss, comma separated',
  },
  fleet: {
    flag: 'fleet',
    variable: 'HOST_FLEET',
    fallback: 'lupine',
    meaning: 'name of the fleet',
  },
  fleetCredentialsFile: {
    flag: 'fleet-credentials-file',
    variable: 'HOST_FLEET_CREDENTIALS_FILE',
    fallback: undefined,
    meaning: 'login at the store: credentials of NATS',
  },
  fleetPasswordFile: {
    flag: 'fleet-password-file',
    variable: 'HOST_FLEET_PASSWORD_FILE',
    fallback: undefined,
    meaning: 'login at the store: a line user:password',
  },
  fleetCaFile: {
    flag: 'fleet-ca-file',
    variable: 'HOST_FLEET_CA_FILE',
    fallback: undefined,
    meaning: "certificates (PEM) that may sign the store's",
  },
} as const

export type FleetSettingName = keyof typeof fleetDefinitions

export interface FleetSettings {
  servers: readonly string[]
  fleet: string
  /** Name of this host in the fleet; undefined: the stored one. */
  hostId: string | undefined
  credentialsFile: string | undefined
  passwordFile: string | undefined
  caFile: string | undefined
}

/** What a fleet needs of the other settings. */
export interface FleetNeeds {
  hostId: string | undefined
  mqttUrl: string | undefined
  secretKeyFile: string | undefined
}

const namePattern = /^[A-Za-z0-9_-]{1,32}$/
const addressPattern = /^(nats|tls|ws|wss):\/\//

/**
 * Undefined: no fleet is asked for. Throws `SettingsError`, one line that says what is missing. `isMember`: a host that works
 * in the fleet, which needs a broker for all; to join and leave needs none.
 */
export function readFleetSettings(
  text: (name: FleetSettingName) => string | undefined,
  needs: FleetNeeds,
  { isMember = true } = {},
): FleetSettings | undefined {
  const url = text('fleetUrl')
  if (url === undefined || url === '') return undefined
  const servers = readServers(url)
  const fleet = text('fleet') ?? fleetDefinitions.fleet.fallback
  if (!namePattern.test(fleet)) throw badName('HOST_FLEET (--fleet)', fleet)
  if (needs.hostId !== undefined && !namePattern.test(needs.hostId))
    throw badName('HOST_ID (--id)', needs.hostId)
  if (isMember && needs.mqttUrl === undefined) {
    throw new SettingsError(
      'HOST_MQTT_URL (--mqtt-url) is missing; a fleet (HOST_FLEET_URL) needs one broker for all hosts.',
    )
  }
  if (needs.secretKeyFile === undefined) {
    throw new SettingsError(
      'HOST_SECRET_KEY_FILE (--secret-key-file) is missing; a fleet (HOST_FLEET_URL) needs it, with the same key on every host.',
    )
  }
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
  const caFile = text('fleetCaFile') || undefined
  return { servers, fleet, hostId: needs.hostId, credentialsFile, passwordFile, caFile }
}

function readServers(value: string): string[] {
  const servers = value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
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

function badName(setting: string, value: string): SettingsError {
  return new SettingsError(
    `${setting} is ${JSON.stringify(value)}; in a fleet it must be 1 to 32 letters, digits, _ and -.`,
  )
}
