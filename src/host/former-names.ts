import type { Clock } from '../base/time/clock.ts'
import { waitAtMost } from '../base/time/wait.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf } from '../base/problem.ts'
import type { Bus, BusMessage } from '../bus/bus.ts'
import { inspectRetained } from '../bus/retained-inspection.ts'
import {
  createFormerDeviceRemoval,
  type FormerDeviceRemoval,
} from '../home-assistant/former-device-removal.ts'
import { formerDevices } from '../home-assistant/former-devices.ts'
import type { RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import { formerTopics } from '../mqtt-api/former-topics.ts'
import type { PublishedNames } from '../schema/files/names-file.ts'
import type { NamesRegister } from './names-file.ts'

/** Messages that are cleared between two looks: far fewer than may wait for a broker. */
const batchSize = 500
/** Topics in one line of the log. */
const shownTopics = 10
const byHand = 'clear it by hand: mosquitto_sub -t "<topic>" --remove-retained --retained-only'
/** Milliseconds that a start waits for it: new devices are better announced when the old ones are gone. */
const patience = 5_000

export interface FormerNamesSettings {
  register: NamesRegister
  bus: Bus
  lifecycle: RunningLifecycle
  clock: Clock
  logger: Logger
  /** Whether this host announces a device on the topic now. */
  isAnnounced: (topic: string) => boolean
  /**
   * Whether the run before has ended in order, and so has said `offline`. Otherwise an `online` of its own may still stand,
   * for as long as the broker believes in its connection.
   */
  endedInOrder: boolean
}

/** What this host has told under names that it has no more is cleared at the broker. Of a host that works by itself. */
export interface FormerNames {
  /**
   * Begins; resolves when it has been tried once, or cannot be now. It goes on whenever there is a connection. Before devices
   * are announced under the present names.
   */
  clear(): Promise<void>
  /** From now on what is cleared is forgotten: everything has been told under the present names. */
  settle(): Promise<void>
  close(): Promise<void>
}

/** `abandoned`: another host lived there, and does not now. */
type Outcome =
  | { kind: 'cleared'; count: number }
  | { kind: 'inhabited' }
  | { kind: 'refused' | 'abandoned'; topics: string[] }
  | { kind: 'failed'; reason: string }

export function createFormerNames(settings: FormerNamesSettings): FormerNames {
  const { register, bus, lifecycle, clock, logger, isAnnounced, endedInOrder } = settings
  const { present } = register
  const marker = `${present.root}/plugins/former-names`
  /** Those of this broker that have not been looked at. */
  const waiting = new Set(register.former.filter(({ broker }) => broker === present.broker))
  const cleared = new Set<PublishedNames>()
  /** Of which Home Assistant has to be told. */
  const unsaid = new Set<PublishedNames>()
  let farewell: FormerDeviceRemoval | undefined
  let settled = false
  let attempt = new AbortController()
  let running = Promise.resolve()
  let stopListening = (): void => undefined

  async function clearOne(names: PublishedNames, signal: AbortSignal): Promise<Outcome> {
    const topics = names.root === present.root ? undefined : formerTopics(names.root, present.root)
    const devices = formerDevices(names, present)
    const filters = [...(topics?.filters ?? []), ...(devices === undefined ? [] : [devices.filter])]
    const asked = new Set<string>()
    // What was cleared is looked for again: only then it is known that the broker has done it.
    while (filters.length > 0) {
      const found = new Set<string>()
      const seen = { isInhabited: false }
      const look = (message: BusMessage): void => {
        if (topics?.isSignOfLife(message) === true) seen.isInhabited = true
        else if (topics?.isLeft(message) === true || devices?.isLeft(message) === true)
          found.add(message.topic)
      }
      await inspectRetained(bus, { filters, marker, onMessage: look, signal })
      if (seen.isInhabited) return { kind: 'inhabited' }
      const left = [...found].filter((topic) => topic !== topics?.status && !isAnnounced(topic))
      // While it is there, so is what tells whether anybody lives there.
      if (topics !== undefined && left.length === 0 && found.has(topics.status)) left.push(topics.status)
      if (left.length === 0) break
      if (names.inhabited) return { kind: 'abandoned', topics: left }
      const batch = left.filter((topic) => !asked.has(topic)).slice(0, batchSize)
      if (batch.length === 0) return { kind: 'refused', topics: left }
      for (const topic of batch) {
        asked.add(topic)
        await bus.publish(topic, '', { qos: 1, retain: true })
      }
    }
    for (const topic of asked) {
      const plugin = topics?.eventOf(topic)
      if (plugin !== undefined && lifecycle.status(plugin) !== undefined)
        lifecycle.freeRetained(plugin, topic)
    }
    return { kind: 'cleared', count: asked.size }
  }

  async function clearAll(signal: AbortSignal): Promise<void> {
    for (const names of [...waiting]) {
      const outcome = await clearOne(names, signal).catch((error: unknown): Outcome => {
        if (signal.aborted) throw error
        return { kind: 'failed', reason: messageOf(error) }
      })
      // Those that could not be cleared are looked at by the next run: a host that restarts must not be taken for gone.
      waiting.delete(names)
      tell(names, outcome)
      if (outcome.kind === 'cleared') cleared.add(names)
      else if (outcome.kind === 'inhabited' && endedInOrder) await register.leave(names)
    }
    await forgetCleared()
  }

  function tell(names: PublishedNames, outcome: Outcome): void {
    const { hostId, root, prefix } = names
    const where = { root, hostId, prefix }
    if (outcome.kind === 'cleared') {
      if (outcome.count > 0)
        logger.info('What this host told under former names has been cleared', {
          ...where,
          count: outcome.count,
        })
    } else if (outcome.kind === 'inhabited') {
      if (names.inhabited) return
      logger.warn(
        'Another host lives under names that this one had before, and what is there is left alone. A copy of the data directory ' +
          'of another host needs both a HOST_ID and a HOST_MQTT_ROOT of its own' +
          (endedInOrder
            ? ''
            : `. If it was this host itself, whose last run was cut off, start it again when ${root}/status says offline`),
        where,
      )
    } else if (outcome.kind === 'failed') {
      logger.warn('What this host told under former names could not be cleared; the next start tries again', {
        ...where,
        reason: outcome.reason,
      })
    } else {
      const { topics } = outcome
      logger.warn(
        outcome.kind === 'refused'
          ? 'What this host told under former names cannot be cleared: the broker keeps it. Let the login of this host write there, and start it again'
          : `What stands under former names of this host may be another host's, which is away. If that is gone for good, ${byHand}`,
        { ...where, topics: topics.slice(0, shownTopics), count: topics.length },
      )
    }
  }

  async function forgetCleared(): Promise<void> {
    if (!settled) return
    for (const names of cleared) {
      if (unsaid.has(names)) continue
      cleared.delete(names)
      await register.forget(names)
    }
  }

  /** Anew with every connection: what was asked on the one before may never be answered. */
  function begin(): void {
    attempt.abort()
    const { signal } = (attempt = new AbortController())
    running = running
      .then(() => (signal.aborted ? undefined : clearAll(signal)))
      // It was ended early, and is begun anew if there is to be another one.
      .catch(() => undefined)
  }

  function heard(): void {
    unsaid.clear()
    running = running.then(forgetCleared)
  }

  /** Only the built-in broker forgets what Home Assistant may remember. */
  async function sayFarewell(): Promise<void> {
    if (bus.kind !== 'embedded') return
    for (const names of cleared) if (formerDevices(names, present) !== undefined) unsaid.add(names)
    if (unsaid.size === 0) return
    farewell = createFormerDeviceRemoval({
      ...{ lifecycle, bus, former: [...unsaid], present, heard, clock, logger },
    })
    await farewell.start()
  }

  return {
    async clear() {
      if (waiting.size === 0) return
      stopListening = bus.onReconnect(begin)
      if (!bus.connected) return
      begin()
      await waitAtMost(clock, patience, running)
      await sayFarewell()
    },
    async settle() {
      settled = true
      await register.save()
      await forgetCleared()
    },
    async close() {
      stopListening()
      attempt.abort()
      await farewell?.close()
      await running
    },
  }
}
