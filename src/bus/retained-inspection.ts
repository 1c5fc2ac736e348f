import { randomBytes } from 'node:crypto'
import type { Bus, BusMessage, BusSubscription } from './bus.ts'

export interface RetainedInspection {
  filters: readonly string[]
  /** A topic that the host may publish to and subscribe to; whoever hears of it there hears nothing of meaning. */
  marker: string
  /** Gets what is retained, and what is published meanwhile. */
  onMessage(message: BusMessage): void
  /** Ends it early. */
  signal: AbortSignal
}

/**
 * Shows once what the broker has retained, after all that was published before. Rejects when it is ended early, or the bus
 * takes nothing more; without a connection it waits for one. When the connection is lost it may wait in vain: it is for the
 * caller to begin anew.
 */
export async function inspectRetained(
  bus: Pick<Bus, 'subscribe' | 'publish'>,
  { filters, marker, onMessage: look, signal }: RetainedInspection,
): Promise<void> {
  const subscriptions: BusSubscription[] = []
  const answers = new Map<string, () => void>()
  let abort = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(new Error('Nobody asks any more'))
  })
  // It may come while nobody waits for it.
  aborted.catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()

  /** A message of the host's own comes back after everything that the broker was asked before. */
  async function passOnce(): Promise<void> {
    const own = randomBytes(8).toString('hex')
    const back = new Promise<void>((resolve) => answers.set(own, resolve))
    await bus.publish(marker, own, { qos: 1 })
    await Promise.race([back, aborted])
  }

  try {
    subscriptions.push(
      await bus.subscribe(marker, ({ payload, retained }) => {
        if (!retained) answers.get(Buffer.from(payload).toString())?.()
      }),
    )
    // A subscription does not wait for what has been published before and is still to go out.
    await passOnce()
    for (const filter of filters) subscriptions.push(await bus.subscribe(filter, look, { qos: 0 }))
    await passOnce()
  } finally {
    signal.removeEventListener('abort', abort)
    await Promise.all(subscriptions.map((subscription) => subscription.close()))
  }
}
