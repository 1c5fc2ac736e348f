import type { PluginContext } from '../../plugin-context.ts'
import { createConnectionObjects, type ConnectionObjects } from './connection-objects.ts'
import { installDiscovery } from './discovery.ts'
import { installHttpStreams } from './http-stream.ts'
import { installSerial } from './serial.ts'
import { installTcp } from './tcp.ts'
import { installUdp } from './udp.ts'
import { installWebSockets } from './web-socket.ts'

export type PluginConnections = Pick<ConnectionObjects, 'deliver'>

/** What stays connected to a machine elsewhere (plugin API, section 15). */
export function installConnections(context: PluginContext): PluginConnections {
  const connections = createConnectionObjects(context)
  installWebSockets(context, connections)
  installHttpStreams(context, connections)
  installTcp(context, connections)
  installUdp(context, connections)
  installSerial(context, connections)
  installDiscovery(context, connections)
  return connections
}
