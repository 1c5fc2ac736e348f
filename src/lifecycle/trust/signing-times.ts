import type { Logger } from '../../base/log/log.ts'
import { createKeyedMutex } from '../../base/mutex.ts'
import type { Journal } from '../../journal/journal.ts'
import type { SnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import type { RepositorySettings, SigningTimes } from '../../repository/repository.ts'

/** When the indexes of pinned repositories were signed, by the journal: a restart forgets none of it. */
export function createJournaledSigningTimes(settings: {
  journal: Journal
  snapshots: SnapshotWriter
  logger: Logger
}): SigningTimes {
  const { journal, snapshots, logger } = settings
  const mutex = createKeyedMutex()

  const configured = ({ name, publicKey }: RepositorySettings) =>
    journal.live.host.context.repositories.find(
      (known) => known.name === name && known.publicKey === publicKey,
    )

  return {
    latest: (repository) => configured(repository)?.signedAt,
    remember: (repository, signedAt) =>
      mutex.run(repository.name, async () => {
        const known = configured(repository)
        // One that is being added is written down with its time; after the end nothing is.
        if (known === undefined || (known.signedAt ?? -1) >= signedAt) return
        if (journal.live.host.value === 'stopped') return
        try {
          const data = { name: repository.name, signedAt }
          await journal.append([{ type: 'RepositoryIndexAccepted', plugin: null, data }], 'supervisor')
          await snapshots.flush()
        } catch (error) {
          // The index is good all the same, and reading goes on; the next look at it tries again.
          logger.warn('It could not be written down when an index was signed', {
            repository: repository.name,
            error,
          })
        }
      }),
  }
}
