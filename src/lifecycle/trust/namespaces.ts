import type { Logger } from '../../base/log/log.ts'
import { createKeyedMutex } from '../../base/mutex.ts'
import { type HostState, installedIn } from '../../journal/fold/evolve.ts'
import type { Journal } from '../../journal/journal.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import type { RepositoryCatalog, RepositorySettings } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { HostFact } from '../../schema/journal/journal-event.ts'

/**
 * Which repository a namespace belongs to: the one that had it first, by the journal, so that a restart forgets
 * nothing. It keeps it while it is configured, or a plugin that came from it is installed.
 */
export interface Namespaces {
  /** The name of the repository that has it; undefined: none has. */
  holder(namespace: string): string | undefined
  /** The holder, when it is another one than this; else null. */
  heldByOther(namespace: string, repository: string): string | null
  /** Finds out who was first, and keeps it. Reads the repositories that have no namespace yet. Never rejects. */
  settle(look: NamespaceLookup): Promise<void>
}

export interface NamespaceLookup {
  /** To be read in any case. */
  read?: readonly RepositorySettings[]
  /** What has just been read, by the name of the repository: its namespace, or null when it has none to tell. */
  seen?: ReadonlyMap<string, string | null>
  /** Into the journal; else as long as the host runs, for a look that is to change nothing. */
  write: boolean
}

type Claim = Extract<HostFact, { type: 'NamespaceClaimed' }>

/** Pure. `noticed`: who had it first, where that is not written down. */
function namespaceHolder(
  { host, plugins }: HostState,
  namespace: string,
  noticed?: string,
): string | undefined {
  const { repositories, namespaces } = host.context
  const first = noticed ?? (Object.hasOwn(namespaces, namespace) ? namespaces[namespace] : undefined)
  if (first !== undefined && repositories.some(({ name }) => name === first)) return first
  const origins = installedIn({ plugins })
    .filter(({ context }) => context.id.startsWith(`@${namespace}/`))
    .map(({ context: { repository, installedAt } }) => ({ repository, at: installedAt ?? '' }))
    .filter((origin): origin is { repository: string; at: string } => origin.repository !== null)
    .sort((left, right) => (left.at < right.at ? -1 : 1))
    .map(({ repository }) => repository)
  return first !== undefined && origins.includes(first) ? first : origins[0]
}

export function createNamespaces(settings: {
  journal: Journal
  snapshots: SnapshotWriter
  repositories: RepositoryCatalog
  logger: Logger
}): Namespaces {
  const { journal, snapshots, repositories, logger } = settings
  const mutex = createKeyedMutex()
  const noticed = new Map<string, string>()
  const holder = (namespace: string): string | undefined =>
    namespaceHolder(journal.state, namespace, noticed.get(namespace))

  const namespaceOf = (repository: RepositorySettings): Promise<string | undefined> =>
    repositories.index(repository).then(
      (index) => index.namespace,
      () => undefined,
    )

  /** What is not written down yet. `found`: in the order in which the repositories were added. */
  function claims(found: readonly { name: string; namespace: string | null | undefined }[]): Claim[] {
    const { host, plugins } = journal.state
    const configured = new Set(host.context.repositories.map(({ name }) => name))
    const claimed = new Map<string, string>()
    for (const { context } of plugins.values()) {
      // Whoever has it because of what is installed keeps it when another one comes back.
      const { namespace } = identifierOf(context.id)
      const origin = holder(namespace)
      if (origin !== undefined) claimed.set(namespace, origin)
    }
    for (const { name, namespace } of found) {
      if (namespace == null || !configured.has(name) || claimed.has(namespace)) continue
      claimed.set(namespace, holder(namespace) ?? name)
    }
    return [...claimed]
      .filter(([namespace, repository]) => host.context.namespaces[namespace] !== repository)
      .map(([namespace, repository]) => ({
        type: 'NamespaceClaimed',
        plugin: null,
        data: { namespace, repository },
      }))
  }

  return {
    holder,
    heldByOther(namespace, repository) {
      const held = holder(namespace)
      return held === undefined || held === repository ? null : held
    },
    async settle({ read = [], seen = new Map<string, string | null>(), write }) {
      const { repositories: configured, namespaces } = journal.live.host.context
      const holders = new Set(Object.values(namespaces))
      const names = new Set(read.map(({ name }) => name))
      const found = await Promise.all(
        configured.map(async (repository) => {
          const { name } = repository
          const known = seen.get(name)
          if (known !== undefined || (holders.has(name) && !names.has(name)))
            return { name, namespace: known }
          return { name, namespace: await namespaceOf(repository) }
        }),
      )
      await mutex.run('claims', async () => {
        const facts = claims(found)
        for (const { data } of facts) noticed.set(data.namespace, data.repository)
        if (!write || facts.length === 0 || journal.live.host.value === 'stopped') return
        try {
          await journal.append(facts, 'supervisor')
          for (const { data } of facts) noticed.delete(data.namespace)
          await snapshots.flush()
        } catch (error) {
          // It is known for as long as the host runs; the next look tries again.
          logger.warn('It could not be written down which repository has a namespace', { error })
        }
      })
    },
  }
}
