import { resolve } from 'node:path'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import { type FleetFiles, openFleetFiles } from '../../fleet/files/fleet-files.ts'
import type { StoreConnection } from '../../fleet/store/connect-store.ts'
import { openValueBucket, type ValueBucket } from '../../fleet/values/value-bucket.ts'
import { lockDirectory } from '../../journal/lock/lock.ts'
import { defaultRepositoryLimits } from '../../repository/limits.ts'
import type { DirectorySettings } from './read-host.ts'

/** What the commands of `lupine fleet` have in common. */

export interface MembershipSettings extends DirectorySettings {
  connection: StoreConnection
  fleet: string
}

/** Runs a task with the lock of the data directory. Throws one sentence when a host is running in it, or it is no directory. */
export async function withLockedDirectory<T>(directory: string, task: () => Promise<T>): Promise<T> {
  const lock = await lockDirectory(directory).catch((error: unknown) => {
    if (error instanceof UnusableFileError) throw error
    throw new Error(
      `${resolve(directory)} cannot be used as a data directory (${systemErrorCode(error) ?? messageOf(error)}); ` +
        'name that of the host with HOST_DATA_DIR (--data-dir).',
      { cause: error },
    )
  })
  if (lock === undefined) throw new Error(`A host is running in ${resolve(directory)}; stop it first.`)
  try {
    return await task()
  } finally {
    await lock.release({ withFile: true })
  }
}

/** Opens the stores of plugin files and of stored values of the fleet. */
export async function openFleetStores(
  settings: MembershipSettings,
): Promise<{ files: FleetFiles; values: ValueBucket }> {
  const { connection, fleet, ring, clock } = settings
  return {
    // Refuses to go on without a key.
    values: await openValueBucket(connection, fleet, ring),
    files: await openFleetFiles(connection, fleet, { clock, limits: defaultRepositoryLimits }),
  }
}
