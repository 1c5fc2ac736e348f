import {
  createRetainedAccount,
  pluginRetainedLimits,
  type RetainedAccount,
  type RetainedLimits,
} from '../../schema/plugin/retained-account.ts'

/** Whose retained message it is. All clients of one address are one publisher, since a client's name costs nothing. */
export type Publisher =
  { kind: 'host' } | { kind: 'plugin'; id: string } | { kind: 'client'; address: string }

const mebi = 1024 * 1024

/**
 * What may be retained at the built-in broker, wherever the topic is. The host's own has limits where it comes from.
 * Plugins are not counted among the clients, so that no client takes their room.
 */
export const retainedLimits = {
  /** Of each plugin. */
  plugin: pluginRetainedLimits,
  /** Of all clients of one address. A gateway tells Home Assistant of a dozen things for each of its devices. */
  address: { topics: 20_000, bytes: 32 * mebi },
  /** Of all clients together; more than a house has. */
  clients: { topics: 40_000, bytes: 64 * mebi },
} as const satisfies Record<string, RetainedLimits>

/** Who has retained what; what it is, is the broker's store's to keep. */
export interface RetainedLedger {
  /**
   * A message takes the place of whatever is retained on its topic. False: its publisher has no room for it, and
   * the topic is nobody's. `payload`: bytes, not 0.
   */
  keep(topic: string, payload: number, publisher: Publisher): boolean
  /** Nothing is retained there any more. */
  free(topic: string): void
  publisherOf(topic: string): Publisher | undefined
  /** Of all that is retained, by topic. */
  publishers(): Iterable<[topic: string, publisher: Publisher]>
}

export function createRetainedLedger(
  limits: Record<keyof typeof retainedLimits, RetainedLimits> = retainedLimits,
): RetainedLedger {
  const publishers = new Map<string, Publisher>()
  const clients = createRetainedAccount(limits.clients)
  /** Those that have something retained. */
  const plugins = new Map<string, RetainedAccount>()
  const addresses = new Map<string, RetainedAccount>()

  /** Where it counts. */
  function accountsOf(publisher: Publisher): RetainedAccount[] {
    if (publisher.kind === 'host') return []
    if (publisher.kind === 'plugin') return [accountIn(plugins, publisher.id, limits.plugin)]
    return [accountIn(addresses, publisher.address, limits.address), clients]
  }

  function forgetEmpty(publisher: Publisher): void {
    if (publisher.kind === 'host') return
    const [accounts, key] =
      publisher.kind === 'plugin' ? [plugins, publisher.id] : [addresses, publisher.address]
    if (accounts.get(key)?.topics === 0) accounts.delete(key)
  }

  function free(topic: string): void {
    const publisher = publishers.get(topic)
    if (publisher === undefined) return
    publishers.delete(topic)
    for (const account of accountsOf(publisher)) account.delete(topic)
    forgetEmpty(publisher)
  }

  return {
    keep(topic, payload, publisher) {
      free(topic)
      const accounts = accountsOf(publisher)
      const fits = accounts.every((account) => account.hasRoom(topic, payload))
      if (fits) {
        for (const account of accounts) account.set(topic, payload)
        publishers.set(topic, publisher)
      }
      forgetEmpty(publisher)
      return fits
    },
    free,
    publisherOf: (topic) => publishers.get(topic),
    publishers: () => publishers.entries(),
  }
}

function accountIn(
  accounts: Map<string, RetainedAccount>,
  key: string,
  limits: RetainedLimits,
): RetainedAccount {
  const present = accounts.get(key)
  if (present !== undefined) return present
  const fresh = createRetainedAccount(limits)
  accounts.set(key, fresh)
  return fresh
}
