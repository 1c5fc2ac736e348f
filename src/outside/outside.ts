import { lookup as systemLookup } from 'node:dns'
import { lazyImport } from '../base/lazy-import.ts'
import { failedAnswer } from '../schema/outside/failed-answer.ts'
import type { OutsideAnswer, OutsideCall, SerialPortView } from '../schema/outside/outside.ts'
import { type Connections, createConnections } from './connections/connections.ts'
import { createDeliveryWatchdog, type DeliveryWatchdogSettings } from './connections/delivery-watchdog.ts'
import type { ConnectionAllowance } from './connections/kinds.ts'
import { createCuttableRequests } from './cuttable-requests.ts'
import { createCookieJars } from './http/cookie-jars.ts'
import type { Finders, FindersSettings } from './discovery/finders.ts'
import { createFoundLookup } from './discovery/found-lookup.ts'
import { createHttpClient, type HttpAllowance, type HttpClientSettings } from './http/http-client.ts'
import { createModbusGateways } from './modbus/modbus-gateways.ts'
import { createOwnListeners, interfaceAddresses } from './own-listeners.ts'
import { listSerialPorts } from './serial/serial-library.ts'

/** What one plugin may do with a request. */
export interface OutsideAllowance extends HttpAllowance {
  /** Why it may not open this serial port, in a sentence; undefined: it may. */
  serial(path: string): string | undefined
  /** Whether it is told of this serial port. */
  seesSerial(port: { path: string }): boolean
}

/** The way of plugins to machines elsewhere. */
export interface Outside {
  /**
   * Always answers, sooner when `signal` says that nobody waits any more. `allowed.connect` is asked before every
   * connection, also where a redirect leads.
   */
  request(
    plugin: string,
    call: OutsideCall,
    signal: AbortSignal,
    allowed: OutsideAllowance,
  ): Promise<OutsideAnswer>
  /** The serial ports of this machine. Rejects with an `Error` when nobody can say. */
  serialPorts(): Promise<SerialPortView[]>
  /** Answers at once; what comes of it is told to the listener. Each attempt is judged by `allowed` first. */
  connect: Connections['open']
  /** Connections of a plugin. */
  connections: Connections['of']
  /** Bytes that they have carried, of all plugins. */
  traffic: Connections['traffic']
  /** Ends what a plugin has under way, at once. */
  cut(plugin: string): void
  /** A plugin has been unloaded: its cookies are gone, and connections to Modbus devices that nobody else uses. */
  forget(plugin: string): void
  /** Ends what is under way, and every connection. */
  close(): Promise<void>
}

export type { ConnectionAllowance, FindersSettings }

export interface OutsideSettings extends Omit<HttpClientSettings, 'own' | 'jars'> {
  /** Ports that this process listens at: nothing of a plugin's gets there. */
  ownPorts(): Iterable<number>
  /** Other addresses than this machine's at which those ports are closed, too. */
  ownAddresses?: (() => Iterable<string>) | undefined
  /** Asked before each request and each write; absent: there is nobody else who could be the plugin. */
  mayAct?: ((plugin: string) => boolean) | undefined
  /** Where the network is looked at; default: as the protocols say. */
  discovery?: FindersSettings | undefined
  /** How it is found out that a connection does not get rid of what was written to it; default: by what the system says. */
  delivery?: Omit<DeliveryWatchdogSettings, 'clock'> | undefined
}

/** Why a request is refused that nobody but the plugin's present host may make. */
const elsewhere = 'another host of the fleet has this plugin now'

export function createOutside(settings: OutsideSettings): Outside {
  const { ownAddresses } = settings
  let found: Finders | undefined
  const own = createOwnListeners({
    ports: () => settings.ownPorts(),
    ...(ownAddresses === undefined ? {} : { addresses: () => [...interfaceAddresses(), ...ownAddresses()] }),
    lookup: createFoundLookup({
      addressesOf: (name) => found?.discovery.addressesOf(name) ?? [],
      otherwise: systemLookup,
    }),
  })
  const jars = createCookieJars(settings.clock.now)
  const http = createHttpClient({ ...settings, own, jars })
  const modbus = createModbusGateways({ ...settings, own })
  const finders = lazyImport(async () => {
    const { createFinders } = await import('./discovery/finders.ts')
    found = createFinders(settings.clock, settings.discovery ?? {})
    return found
  })
  const watchDelivery = createDeliveryWatchdog({ clock: settings.clock, ...settings.delivery })
  const connections = createConnections({ ...settings, own, http, finders, watchDelivery })
  const requests = createCuttableRequests(settings.mayAct)

  async function request(
    plugin: string,
    call: OutsideCall,
    signal: AbortSignal,
    allowed: OutsideAllowance,
  ): Promise<OutsideAnswer> {
    if (call.service === 'http')
      return { service: 'http', answer: await http.request(plugin, call.request, signal, allowed) }
    if (call.service === 'serialPorts') {
      const ports = await listSerialPorts()
      return { service: 'serialPorts', answer: { ok: true, ports: ports.filter(allowed.seesSerial) } }
    }
    const { host, port, serial } = call.request
    const refusal = serial === undefined ? allowed.connect(host, port) : allowed.serial(serial.path)
    if (refusal !== undefined) return failedAnswer('modbus', refusal)
    return { service: 'modbus', answer: await modbus.request(plugin, call.request, signal) }
  }

  return {
    connect: connections.open,
    connections: connections.of,
    traffic: connections.traffic,
    forget(plugin) {
      jars.forget(plugin)
      modbus.forget(plugin)
    },
    serialPorts: listSerialPorts,
    request: (plugin, call, signal, allowed) =>
      requests.run(
        plugin,
        signal,
        () => failedAnswer(call.service, elsewhere),
        (cuttable) => request(plugin, call, cuttable, allowed),
      ),
    cut(plugin) {
      requests.cut(plugin)
      connections.cut(plugin)
    },
    async close() {
      await Promise.all([http.close(), modbus.close(), connections.close()])
    },
  }
}
