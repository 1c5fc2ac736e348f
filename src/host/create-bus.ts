import type { BusSession, ExternalBus } from '../bus/external/external-bus.ts'
import type { StartableBus } from '../bus/bus.ts'
import { createEmbeddedBus, type EmbeddedBusSettings } from '../bus/embedded/embedded-bus.ts'
import type { Settings } from '../settings/settings.ts'

/** The broker that the settings ask for: the built-in one, or another. */
export async function createBus(
  settings: Settings,
  parts: Pick<EmbeddedBusSettings, 'token' | 'guesses' | 'addresses' | 'tls' | 'disk' | 'logger' | 'clock'>,
): Promise<StartableBus> {
  const { mqttUrl: url, mqttRoot: root } = settings
  if (url !== undefined) {
    const { logger, clock } = parts
    // Its library is loaded only where it is needed.
    const { createExternalBus } = await import('../bus/external/external-bus.ts')
    return createExternalBus({ url, root, logger, clock })
  }
  return createEmbeddedBus({
    ...parts,
    bind: settings.mqttBind,
    port: settings.mqttPort,
    root,
    limits: {
      connections: settings.mqttConnections,
      connectionsPerAddress: settings.mqttConnectionsPerAddress,
    },
  })
}

/** The bus of a host of a fleet: it speaks only while its session lives. */
export async function createFleetBus(
  { mqttUrl: url = '', mqttRoot: root }: Settings,
  parts: Pick<EmbeddedBusSettings, 'logger' | 'clock'> & { host: string; session: BusSession },
): Promise<ExternalBus> {
  const { host, session, logger, clock } = parts
  const { createExternalBus } = await import('../bus/external/external-bus.ts')
  return createExternalBus({ url, root, logger, clock, session, statusTopic: `${root}/hosts/${host}/status` })
}
