import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { Aedes, type Client } from 'aedes'
import { keptSockets } from '../helpers/kept-sockets.ts'
import { listen } from '../helpers/listen.ts'

/** A read of a file, as one of a table of rights. */
const lookUp = () => readFile(new URL(import.meta.url))

/** A broker that ends the connection of who sends what it does not take, as one of MQTT 3.1.1 has to. */
export interface StrictBroker {
  readonly url: string
  /** On which it has taken messages. */
  readonly topics: ReadonlySet<string>
  /** Filters that were taken back. */
  readonly unsubscribed: ReadonlySet<string>
  /** Clients that it has taken so far. */
  readonly connections: number
  /** From now on it takes everything. */
  relent(): void
  /** Forgets what it has taken. */
  forget(): void
  /** Ends all connections. */
  cut(): void
}

/** Of a message's topic and bytes, and of a filter, with none. */
export type IsTaken = (topic: string, bytes: number) => boolean

/** `isLate`: it looks up first whether a message may be sent, and answers what comes after it meanwhile. */
export async function startStrictBroker(
  context: TestContext,
  isTaken: IsTaken,
  isLate = false,
): Promise<StrictBroker> {
  let isStrict = true
  let connections = 0
  const topics = new Set<string>()
  const unsubscribed = new Set<string>()
  const judge = (client: Client | null, topic: string, bytes: number, taken: () => void): void => {
    if (!isStrict || isTaken(topic, bytes)) taken()
    else client?.conn.destroy()
  }
  const broker = await Aedes.createBroker({
    authorizePublish(client, { topic, payload }, done) {
      const decide = (): void => judge(client, topic, payload.length, () => done(null))
      if (isLate) void lookUp().then(decide)
      else decide()
    },
    authorizeSubscribe: (client, subscription, done) =>
      judge(client, subscription.topic, 0, () => done(null, subscription)),
  })
  broker.on('publish', ({ topic }) => topics.add(topic))
  broker.on('unsubscribe', (filters) => {
    for (const filter of filters) unsubscribed.add(filter)
  })
  // Not those of MQTT 5, which it does not speak.
  broker.on('clientReady', () => {
    connections += 1
  })
  const server = createServer((socket) => broker.handle(keep(socket)))
  const { keep, cut } = keptSockets(context, server)
  context.after(() => new Promise<void>((resolve) => broker.close(resolve)))
  return {
    url: `mqtt://127.0.0.1:${await listen(server)}`,
    topics,
    unsubscribed,
    get connections() {
      return connections
    },
    relent() {
      isStrict = false
    },
    forget: () => topics.clear(),
    cut,
  }
}
