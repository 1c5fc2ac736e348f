import { join } from 'node:path'
import { quarantine } from '../base/files/quarantine.ts'
import { startStorageFault } from '../base/files/storage-fault.ts'
import { messageOf } from '../base/problem.ts'
import type { Scope } from '../base/scope.ts'
import { type Journal, type JournalSettings, openJournal } from '../journal/journal.ts'
import { knownEnd, snapshotInCheckpoint } from '../journal/snapshot/known-end.ts'
import {
  DamagedSnapshotError,
  readSnapshot,
  refuseDoubtfulEdits,
  snapshotFileName,
} from '../journal/snapshot/snapshot.ts'
import { createSnapshotWriter, type SnapshotWriter } from '../journal/snapshot/snapshot-writer.ts'
import { writtenSnapshot } from '../journal/snapshot/written-snapshot.ts'
import { createManifests, type Manifests } from '../lifecycle/manifests/manifests.ts'
import { createJournalVault } from '../lifecycle/secrets/journal-vault.ts'
import { requireKeysOfStores } from '../lifecycle/stores/key-value-file.ts'
import { createPluginDirectory } from '../repository/directories/plugin-directory.ts'
import type { PluginDirectory } from '../repository/repository.ts'
import type { HostFile } from '../schema/journal/host-file.ts'
import type { FleetJournal } from '../fleet/journal/fleet-journal.ts'
import type { MemberOfFleet, OpenFleet } from './fleet/open-fleet.ts'
import { newHostId } from './host-facts.ts'
import type { HostParts } from './host-parts.ts'
import { warnOfOrphanedPlugins } from './orphaned-plugins.ts'
import { asStartError, StartError } from './start-conditions.ts'

/** What a data directory holds of the runs before. */
export interface OpenState {
  pluginDirectory: PluginDirectory
  manifests: Manifests
  journal: Journal
  snapshots: SnapshotWriter
  /** `.host.json` as it was found; absent: there was none. */
  file: HostFile | undefined
  /** In a fleet: the same journal, and this host as one of its hosts. */
  shared: { journal: FleetJournal; member: MemberOfFleet } | undefined
}

export interface OpenStateSettings extends HostParts {
  /** As in `openJournal`. */
  segmentBytes?: number | undefined
  /** Absent: the journal is in the data directory alone. */
  fleet?: OpenFleet | undefined
  /** The name that the settings give this host. */
  hostId: string | undefined
}

/** The journal of a host that works by itself. Throws, too, where it is gone, or shorter than another file says. */
async function openOwnJournal(parts: JournalSettings, file: HostFile | undefined): Promise<Journal> {
  const { acknowledged, witness } = await knownEnd(parts.files, parts.directory, file)
  return openJournal({ ...parts, acknowledged, witness })
}

const nameIsThere =
  'In a fleet it alone has the name of this host: set HOST_ID to that, and the file is put aside by itself; without it this would be ' +
  'another host.'

/**
 * Puts a `.host.json` aside that cannot be read. In a fleet it counts for nothing but the name of the host: where the settings give
 * that, it is no reason not to start.
 */
async function putSnapshotAside(
  { directory, files, clock, logger }: OpenStateSettings,
  error: Error,
): Promise<void> {
  const path = join(directory, snapshotFileName)
  const kept = await asStartError(quarantine(path, clock.now(), { files, logger }))
  logger.warn(
    '.host.json could not be read; it was put aside, and is written anew from the journal of the fleet',
    {
      kept,
      error: error.message,
    },
  )
}

/**
 * Reads and checks it; changes nothing yet, but in a fleet puts aside what is damaged and can be had again. What `scope` gets closes
 * it. Throws `StartError`.
 */
export async function openState(settings: OpenStateSettings, scope: Scope): Promise<OpenState> {
  const { directory, files, clock, logger, ring, segmentBytes, fleet } = settings
  const pluginDirectory = createPluginDirectory({ directory, files, logger })
  const manifests = createManifests(pluginDirectory, logger)
  const { vault, follow } = createJournalVault(ring, manifests)
  let damage: DamagedSnapshotError | undefined
  const file = await asStartError(
    readSnapshot(files, directory, vault).catch((error: unknown) => {
      if (fleet === undefined || !(error instanceof DamagedSnapshotError)) throw error
      if (settings.hostId === undefined)
        throw new StartError(`${error.message} ${nameIsThere}`, { cause: error })
      damage = error
      return undefined
    }),
  )
  const parts = { directory, files, clock, logger, vault, segmentBytes }
  const shared = fleet && (await asStartError(fleet.openJournal({ ...parts, written: file?.journal })))
  const journal = shared ?? (await asStartError(openOwnJournal(parts, file)))
  follow(journal)
  scope.add(() => journal.close())
  // Only now: a directory of another fleet, or of a host that works by itself, is refused above and stays as it is.
  if (damage !== undefined) await putSnapshotAside(settings, damage)
  if (shared?.replicas === 1) {
    logger.warn(
      "The fleet's store is one NATS server: what is acknowledged survives the end of its process, but not the loss of its " +
        'disk, and a power cut may cost the last two minutes. With three servers there are three copies',
    )
  }
  await requireKeysOfStores(files, directory, ring).catch((error: unknown) => {
    // What the file system refuses is told with what to do about it.
    throw startStorageFault(error) === undefined ? new StartError(messageOf(error), { cause: error }) : error
  })
  await pluginDirectory.requireReadable()
  if (journal.first > 1) {
    logger.info('Older events have been moved away; the journal here begins later', {
      first: journal.first,
    })
  }
  const hostId = settings.hostId ?? file?.host?.id
  const member = shared && (await fleet.become(hostId ?? newHostId()))
  if (member !== undefined) {
    // What counts is in the journal that all hosts share.
  } else if (file !== undefined && journal.live.seq > 0) {
    try {
      refuseDoubtfulEdits(directory, writtenSnapshot(directory, journal, file), file)
    } catch (error) {
      throw new StartError(messageOf(error), { cause: error })
    }
  } else if (file !== undefined) {
    const older = await snapshotInCheckpoint(files, directory).catch(() => undefined)
    const events = file.journal?.seq ?? older?.journal?.seq ?? 0
    if (events > 0)
      logger.warn('There is no journal: the history begins anew, with what .host.json says', { events })
  } else if (journal.live.seq === 0) await warnOfOrphanedPlugins(files, directory, logger)
  const snapshots = createSnapshotWriter({
    ...{ directory, files, clock, logger, vault, kept: file },
    state: () => journal.state,
    eventId: (seq) => journal.eventId(seq),
    onWriting: journal.onWriting,
    // The copy of a fleet's journal is tried again by itself.
    refused: shared === undefined ? journal.refused : undefined,
    // The fold is that of all hosts, which have it in their journal, and knows no name of this one.
    ...(member === undefined ? {} : { hostId: member.id, isCache: true }),
  })
  scope.add(() => snapshots.close())
  return {
    ...{ pluginDirectory, manifests, journal, snapshots, file },
    shared: shared && member && { journal: shared, member },
  }
}
