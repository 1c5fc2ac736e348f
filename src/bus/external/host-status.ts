import type { IPublishPacket, MqttClient } from 'mqtt'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import type { Warner } from '../../base/log/warning.ts'
import type { BusMessage } from '../bus.ts'
import type { MessageDowngrade } from './broker-client.ts'

/** Where a host says at a broker elsewhere that it is there, and hears of others that say so in the same place. */
export interface HostStatus {
  /** Says so over a new connection. `isSigned`: whether it can say which run of a host it is. */
  opened(downgrade: MessageDowngrade, isSigned: boolean): void
  /** Takes in what somebody says there now. */
  heard(packet: IPublishPacket): void
  /** The same, as the subscription of the host has it. */
  changed(message: BusMessage): void
  /** It may have been kept back, and may be tried again. */
  retry(): void
  /** The connection is gone. */
  ended(): void
}

export interface HostStatusSettings {
  topic: string
  /** Name of this run of the host. */
  ownId: string
  /** First level(s) of the host's own topics, and the broker, as they are told. */
  root: string
  address: string
  clock: Clock
  logger: Logger
  warn: Warner
  /** Whether the host may say something in its own name. */
  maySpeak(): boolean
  /** The connection over which something may be said now. */
  client(): MqttClient | undefined
  /** Whether the broker is suspected of ending connections over what it does not take. */
  isSuspected(): boolean
  /** Says it in its turn with all that waits, so that it is known when the connection ends over that. */
  enqueue(payload: string): void
}

/** Property of MQTT 5 that says which run of a host a status is of. */
const signature = 'lupine-client'
/** Milliseconds in which what was published comes back from a broker that is slow. */
export const echoTime = 30_000
/** Others that are answered: each gets one message. */
const metLimit = 100

export function createHostStatus(settings: HostStatusSettings): HostStatus {
  const { topic, ownId, root, address, clock, logger, warn, maySpeak, client, isSuspected, enqueue } =
    settings
  let isSigned = false
  let retained: ReturnType<MessageDowngrade> = { qos: 1, retain: true }
  /** Signatures of others. */
  const met = new Set<string>()
  /** Until the own status has come back. */
  let awaited: ScheduledCall | undefined

  /**
   * Some brokers take a subscription and hand out nothing to who may not read: then a host is deaf, and nothing says so. Those of
   * MQTT 3.1.1 do not say either what they take and throw away: then it is dumb.
   */
  function awaitEcho(): void {
    awaited = clock.schedule(echoTime, () =>
      warn(
        'The MQTT broker does not hand back to this host what it says of itself: commands and values for controls may not arrive, ' +
          'and what the host publishes may not, either. Allow its user there to read and write everything below the root; at the ' +
          'built-in broker of another host it needs a HOST_MQTT_ROOT of its own',
        { topic, root, url: address },
      ),
    )
  }

  function sayOnline(): void {
    const through = client()
    if (through === undefined || !maySpeak()) return
    if (isSuspected()) {
      enqueue('online')
      return
    }
    const properties = isSigned ? { properties: { userProperties: { [signature]: ownId } } } : {}
    through.publish(topic, 'online', { ...retained, ...properties }, (error) => {
      if (!error || client() !== through) return
      awaited?.cancel()
      warn('The MQTT broker refused the status', { reason: error.message })
    })
  }

  return {
    opened(downgrade, signed) {
      isSigned = signed
      retained = downgrade({ qos: 1, retain: true })
      if (maySpeak()) awaitEcho()
      sayOnline()
    },
    /** Its own `online` comes back, too, and perhaps twice: only one with another signature is another host's. */
    heard({ properties }) {
      awaited?.cancel()
      const by = String(properties?.userProperties?.[signature] ?? ownId)
      if (!isSigned || by === ownId || met.has(by) || met.size >= metLimit) return
      met.add(by)
      if (met.size === 1)
        logger.warn(
          'Another host has the same root of topics at this MQTT broker: each removes what the other one retains. Give each a ' +
            'HOST_MQTT_ROOT and a HOST_ID of its own, or make them a fleet (HOST_FLEET_URL)',
          { root, url: address },
        )
      // So that it hears of this one, too, which has been here before.
      sayOnline()
    },
    /**
     * After a power cut the broker believes for a while in the connection of the run before, and then says
     * `offline` for it: that must not stay the last word on a host that is there.
     */
    changed(message) {
      if (!message.retained && Buffer.from(message.payload).toString() === 'offline') sayOnline()
    },
    retry: sayOnline,
    ended: () => awaited?.cancel(),
  }
}
