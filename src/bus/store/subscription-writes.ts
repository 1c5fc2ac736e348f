/** What sessions subscribe to, on its way to the disk: each waits for its own. */
export interface SubscriptionWrites {
  /** `write`: of this subscription, if it changes anything. `task` tells the broker library of it. */
  carryOut(client: string, write: Promise<void> | undefined, task: () => void): void
  /** For the library, which asks while it is told: when what the client has subscribed to is on disk; undefined: it is, or nobody keeps it. */
  present(): Promise<void> | undefined
}

export function createSubscriptionWrites(): SubscriptionWrites {
  const unwritten = new Map<string, Promise<void>>()
  let present: Promise<void> | undefined

  function note(client: string, write: Promise<void>): void {
    unwritten.set(client, write)
    void write.then(() => {
      if (unwritten.get(client) === write) unwritten.delete(client)
    })
  }

  return {
    carryOut(client, write, task) {
      if (write !== undefined) note(client, write)
      present = unwritten.get(client)
      task()
      present = undefined
    },
    present: () => present,
  }
}
