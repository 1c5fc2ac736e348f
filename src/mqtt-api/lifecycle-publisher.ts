import type { Clock, ScheduledCall } from '../base/time/clock.ts'
import { waitAtMost } from '../base/time/wait.ts'
import { jsonText } from '../base/text/json.ts'
import type { Logger } from '../base/log/log.ts'
import { messageOf } from '../base/problem.ts'
import type { Bus } from '../bus/bus.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import { brokerName } from '../schema/names/broker-url.ts'
import type { JournalEventView } from '../schema/journal/journal-event.ts'
import { createTopics } from '../schema/names/topics.ts'
import { type Cursor, type CursorSettings, openLifecycleCursor } from './lifecycle-cursor.ts'

/** Events that may be under way to the broker, and bytes of them: the rest waits in the journal, not in memory. */
const windowEvents = 100
const windowBytes = 1024 * 1024
/** Events that are read at once. */
const pageSize = 100
/** Milliseconds after which the journal is read again when it could not be, and how often before events are left out. */
const readRetryDelay = 5_000
const readAttempts = 5
/** Milliseconds at the end for the broker to take what there is. */
const closingTimeout = 2_000

/** Tells an external broker of every event of the journal, in order: those that it has missed, too. */
export interface LifecyclePublisher {
  /** Told of each event as it happens; those of before `start` count as missed. */
  follow(event: JournalEventView): void
  /** Publishes from now on: not before it is known which settings are secret. */
  start(): void
  /** Waits for a broker that is there to take the last events, two seconds at most. Never rejects. Idempotent. */
  close(): Promise<void>
}

export interface LifecyclePublisherSettings {
  lifecycle: Pick<Lifecycle, 'history' | 'lastSeq'>
  bus: Pick<Bus, 'connected'> & { deliver: NonNullable<Bus['deliver']> }
  /** How far the broker has been told; closed with the rest. */
  cursor: Cursor
  root: string
  clock: Clock
  logger: Logger
}

export interface OpenPublisherSettings extends Omit<CursorSettings, 'broker'> {
  bus: Pick<Bus, 'url' | 'connected' | 'deliver'>
}

/** An event that the broker has not taken yet. */
interface UnderWay {
  seq: number
  event: string
  bytes: number
  isTaken: boolean
}

/**
 * Finds out where the broker stands: to be called before the first fact of a start. Answers undefined for a bus that needs
 * none. Never rejects.
 */
export async function openLifecyclePublisher(
  settings: OpenPublisherSettings,
): Promise<LifecyclePublisher | undefined> {
  const { bus } = settings
  const { deliver } = bus
  if (deliver === undefined) return undefined
  const cursor = await openLifecycleCursor({ ...settings, broker: brokerName(bus.url) })
  const connection = {
    get connected() {
      return bus.connected
    },
    deliver,
  }
  return createLifecyclePublisher({ ...settings, bus: connection, cursor })
}

export function createLifecyclePublisher(settings: LifecyclePublisherSettings): LifecyclePublisher {
  const { lifecycle, bus, cursor, root, clock, logger } = settings
  const topic = createTopics(root).lifecycle
  /** Number of the next event that is to go. */
  let next = cursor.start.seq + 1
  /** Read, and to go before all others; the first of them is the next. */
  let page: JournalEventView[] = []
  /** In order. */
  const underWay: UnderWay[] = []
  let bytesUnderWay = 0
  let isStarted = false
  let isClosed = false
  let isPublishing = false
  let failures = 0
  let retry: ScheduledCall | undefined
  let onIdle = (): void => undefined
  let closing: Promise<void> | undefined

  const hasRoom = (): boolean => underWay.length < windowEvents && bytesUnderWay < windowBytes
  const isIdle = (): boolean => underWay.length === 0 && page.length === 0 && next > lifecycle.lastSeq

  function publish(event: JournalEventView): void {
    const text = jsonText(event)
    const entry = { seq: event.seq, event: event.id, bytes: Buffer.byteLength(text), isTaken: false }
    next = event.seq + 1
    underWay.push(entry)
    bytesUnderWay += entry.bytes
    bus.deliver(topic, text, {
      isWanted: () => !isClosed,
      done() {
        entry.isTaken = true
        settle()
      },
    })
  }

  function settle(): void {
    if (isClosed) return
    let last: UnderWay | undefined
    while (underWay[0]?.isTaken === true) {
      last = underWay.shift()
      bytesUnderWay -= last?.bytes ?? 0
    }
    if (last === undefined) return
    cursor.move({ seq: last.seq, event: last.event })
    publishMissed()
    if (isIdle()) onIdle()
  }

  /** As many as there is room for; the rest follows when the broker has taken some. */
  function publishMissed(): void {
    // A message may be taken before the call that publishes it returns.
    if (!isStarted || isClosed || isPublishing || retry !== undefined) return
    isPublishing = true
    while (hasRoom()) {
      const event = readNext()
      if (event === undefined) break
      publish(event)
    }
    isPublishing = false
  }

  function readNext(): JournalEventView | undefined {
    if (page.length === 0 && next <= lifecycle.lastSeq && !readPage()) return undefined
    return page.shift()
  }

  /** False: nothing could be read for now. */
  function readPage(): boolean {
    try {
      page = lifecycle.history({ after: next - 1, limit: pageSize })
    } catch (error) {
      failed(error)
      return false
    }
    failures = 0
    const first = page[0]?.seq ?? next
    if (first > next) {
      logger.warn(
        'Events that the MQTT broker has missed were moved away with their files; it is not told of them',
        {
          first: next,
          last: first - 1,
        },
      )
    }
    return true
  }

  function failed(error: unknown): void {
    failures += 1
    const last = lifecycle.lastSeq
    const fields = { first: next, last, reason: messageOf(error) }
    if (failures < readAttempts) {
      logger.warn('Events that the MQTT broker has missed could not be read; it is tried again', fields)
      retry = clock.schedule(readRetryDelay, () => {
        retry = undefined
        publishMissed()
      })
      return
    }
    // Those that come are not to wait for ever.
    failures = 0
    next = last + 1
    logger.error(
      'Events that the MQTT broker has missed cannot be read, and are left out; stop the host and run `lupine repair`',
      fields,
    )
  }

  async function closeAll(): Promise<void> {
    if (isStarted && retry === undefined && bus.connected && !isIdle()) {
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      await waitAtMost(clock, closingTimeout, idle)
    }
    isClosed = true
    retry?.cancel()
    await cursor.close()
  }

  return {
    follow(event) {
      if (!isStarted || event.seq < next) return
      // The usual way: nothing is missing before it, and nothing need be read.
      if (event.seq === next && page.length === 0 && retry === undefined && hasRoom()) publish(event)
      else publishMissed()
    },
    start() {
      if (isStarted || closing !== undefined) return
      isStarted = true
      if (next <= lifecycle.lastSeq)
        logger.info('The MQTT broker is told of events that it has not taken yet', {
          first: next,
          last: lifecycle.lastSeq,
        })
      publishMissed()
    },
    close: () => (closing ??= closeAll()),
  }
}
