import type { Clock } from '../../../base/time/clock.ts'
import { every } from '../../../base/time/every.ts'
import type { ExternalBus } from '../../../bus/external/external-bus.ts'
import { isConnected } from '../../../fleet/store/keep-nothing.ts'
import type { ConnectedFleet } from '../store/connect-fleet.ts'

export interface BrokerReachSettings {
  fleet: Pick<ConnectedFleet, 'name' | 'connection'>
  host: string
  clock: Clock
  bus: Pick<ExternalBus, 'connected' | 'hurry'>
  /** Told each time that it is about other hosts than before. */
  changed(withoutBroker: ReadonlySet<string>): void
  /** Whether others reach the broker. */
  othersReach(): boolean
  /** Told again and again while this host has long been without a broker that others reach. */
  cutOff(): void
}

/** Milliseconds between two looks, and for which it holds what another host has said. */
const lookEvery = 1_000
const holdsFor = 3_500
/** Milliseconds without a connection that count for nothing: a broker is started again now and then. */
const tolerated = 5_000
/**
 * Milliseconds for which this host tries to connect at each look once others have the broker; then at its own pace again. After an
 * outage hosts would come back half a minute apart.
 */
const hurriesFor = 5_000

/**
 * Milliseconds without a broker that others reach, until this host counts as cut off from it: longer than the pause between two
 * attempts to connect, after which it may have it again, too.
 */
const cutOffAfter = 45_000

/**
 * Which hosts of a fleet cannot reach the broker while they have the store. Each says it of itself, on
 * `lupine.<fleet>.messages.without-broker`, for as long as it is so. Returns the way to stop.
 */
export function watchBrokerReach(settings: BrokerReachSettings): () => void {
  const { fleet, host, clock, bus, changed, othersReach, cutOff } = settings
  const { connection } = fleet
  const subject = `lupine.${fleet.name}.messages.without-broker`
  /** When each of the others said so last, and when this host had a connection, on the monotonic clock. */
  const said = new Map<string, number>()
  let connectedAt = clock.monotonic()
  let known = ''
  /** Since when others reach the broker and this host does not. */
  let aloneSince: number | undefined
  const subscription = connection.subscribe(subject, {
    callback(error, message) {
      if (error === null && message.string() !== host) said.set(message.string(), clock.monotonic())
    },
  })

  function look(): void {
    const now = clock.monotonic()
    for (const [other, at] of said) if (now - at > holdsFor) said.delete(other)
    if (bus.connected) connectedAt = now
    const isWithout = now - connectedAt > tolerated
    if (isWithout && isConnected(connection)) connection.publish(subject, host)
    const all = [...said.keys(), ...(isWithout ? [host] : [])].sort()
    if (all.join() !== known) {
      known = all.join()
      changed(new Set(all))
    }
    aloneSince = isWithout && othersReach() ? (aloneSince ?? now) : undefined
    if (aloneSince === undefined) return
    if (now - aloneSince < hurriesFor) bus.hurry()
    if (now - aloneSince >= cutOffAfter) cutOff()
  }

  const timer = every(clock, lookEvery, look)
  return () => {
    timer.cancel()
    subscription.unsubscribe()
  }
}
