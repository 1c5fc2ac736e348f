import { type Child, startChild } from './peers/child.ts'

/** The broker library by itself, with a publisher and a subscriber, each in a process of its own. */
export interface BareBroker {
  port: string
  /** Messages a second from the publisher to the subscriber. */
  rate(count: number): Promise<number>
  close(): void
}

/** As long as the topic of an event. */
const topic = 'bench/plugins/@bench/sender/events/reading'

export async function startBareBroker(): Promise<BareBroker> {
  const broker = startChild('bare-broker.ts')
  const { port } = await broker.says<{ port: number }>('port')
  const subscriber = await startSubscriber(String(port), 'bench/#')
  const publisher = await startPublisher(String(port))
  return {
    port: String(port),
    rate: (count) => received(subscriber, count, () => publisher.send({ publish: count, topic })),
    close() {
      for (const child of [broker, subscriber, publisher]) child.end()
    },
  }
}

export async function startSubscriber(port: string, filter: string): Promise<Child> {
  const child = startChild('subscriber.ts', port, filter)
  await child.says('subscribed')
  return child
}

export async function startPublisher(port: string): Promise<Child> {
  const child = startChild('publisher.ts', port)
  await child.says('ready')
  return child
}

/** Messages a second, from the first that the subscriber gets after `start` to the last of so many. */
export async function received(subscriber: Child, count: number, start: () => unknown): Promise<number> {
  subscriber.send({ expect: count })
  await subscriber.says('ready')
  start()
  const { milliseconds } = await subscriber.says<{ milliseconds: number }>('received')
  return count / (milliseconds / 1000)
}
