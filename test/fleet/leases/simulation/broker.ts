import type { Scheduler } from './scheduler.ts'

/** A broker: one connection a client id, whose bytes come in order; a new one with that id closes the one before. */

export interface BrokerConnection {
  readonly id: string
  /** What the client thinks of it. */
  isOpen: boolean
  /** Bytes under way arrive when the way is free again, as TCP has it; what comes over a closed connection is dropped. */
  send(arrive: () => void): void
  /** Sends something, and calls when the broker's answer is here. */
  ask(answered: () => void): void
}

export interface BrokerClient {
  /** The way between the machine and the broker. */
  isUp: boolean
  /** `ready` with the connection when the broker has taken it; may never be called. */
  connect(id: string, ready: (connection: BrokerConnection) => void, closed: () => void): void
}

export interface Broker {
  client(): BrokerClient
}

/** Milliseconds between two tries of bytes that did not get through. */
const retransmission = 200

export function createBroker(scheduler: Scheduler): Broker {
  const connections = new Map<string, BrokerConnection & { drop(): void }>()

  return {
    client() {
      const client: BrokerClient = {
        isUp: true,
        connect(id, ready, closed) {
          let isTaken = true
          let lastArrival = 0
          const connection = {
            id,
            isOpen: false,
            send(arrive: () => void) {
              const at = Math.max(lastArrival, scheduler.now + scheduler.between(0.2, 6))
              lastArrival = at
              scheduler.after(at - scheduler.now, () => attempt(arrive))
            },
            ask: (answered: () => void) => connection.send(() => back(answered)),
            drop() {
              isTaken = false
              back(() => {
                connection.isOpen = false
                closed()
              })
            },
          }
          let waiting: (() => void)[] = []
          function attempt(arrive: () => void): void {
            waiting.push(arrive)
            if (waiting.length === 1) drain()
          }
          function drain(): void {
            if (!client.isUp) {
              scheduler.after(retransmission, drain)
              return
            }
            const arrived = waiting
            waiting = []
            for (const arrive of arrived) if (isTaken) arrive()
          }
          /** From the broker to the client. */
          function back(run: () => void): void {
            scheduler.after(scheduler.between(0.2, 6), () => {
              if (client.isUp) run()
              else back(run)
            })
          }
          connection.send(() => {
            connections.get(id)?.drop()
            connections.set(id, connection)
            back(() => {
              if (!isTaken) return
              connection.isOpen = true
              ready(connection)
            })
          })
        },
      }
      return client
    },
  }
}
