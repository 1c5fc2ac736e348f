import { randomUUID } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import {
  type FileSystem,
  readNames,
  syncDirectory,
  writeFileAtomically,
} from '../../base/files/file-system.ts'
import { storageFault } from '../../base/files/storage-fault.ts'
import { SecretKeyError } from '../../base/keys/key-ring.ts'
import { silentLogger } from '../../base/log/log.ts'
import { makePrivateDirectory, privateFileMode } from '../../base/files/private-files.ts'
import { messageOf, Problem, systemErrorCode } from '../../base/problem.ts'
import type { FleetFiles } from '../../fleet/files/fleet-files.ts'
import { openFleetJournal } from '../../fleet/journal/fleet-journal.ts'
import { liveHosts } from '../../fleet/leases/live-hosts.ts'
import { retrying } from '../../fleet/store/retrying.ts'
import { StoreRefusedError, StoreUnreachableError } from '../../fleet/store/store-errors.ts'
import type { ValueBucket } from '../../fleet/values/value-bucket.ts'
import { type HostState, installedIn } from '../../journal/fold/evolve.ts'
import { openJournal } from '../../journal/journal.ts'
import { lockDirectory } from '../../journal/lock/lock.ts'
import { createSnapshotWriter } from '../../journal/snapshot/snapshot-writer.ts'
import { createSecretVault } from '../../lifecycle/secrets/secret-vault.ts'
import { encodeStore, storePath, storesFolderIn } from '../../lifecycle/stores/key-value-file.ts'
import { isContainedPath } from '../../repository/sources/contained-file.ts'
import { pluginPlaces } from '../../repository/directories/plugin-swap.ts'
import { writeDurably } from '../../repository/directories/storage.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import { type MembershipSettings, openFleetStores } from './membership-command.ts'

/** What `lupine fleet leave` has made. The fleet is as it was. */
export interface LeaveResult {
  /** The number of the last event. */
  seq: number
  plugins: string[]
  /** Plugins with stored values. */
  values: string[]
  /** What could not be taken along, and why; it stays in the fleet. */
  leftOut: { what: string; reason: string }[]
}

/** What the directory is called until it is whole, and how it is known that it is one of those. */
const unfinished = '.leaving'
const markerFile = '.host.leaving'

/**
 * Makes a data directory of a single host out of a fleet: journal with its numbers, files and values. It is built beside
 * the place and put there as a whole, so what is interrupted is done again. Throws one sentence.
 */
export async function leaveFleet(settings: MembershipSettings): Promise<LeaveResult> {
  const { files } = settings
  const directory = resolve(settings.directory)
  await requireFree(directory, files)
  const live = await liveHosts(settings.connection, settings.fleet, settings.clock)
  if (live.length > 0) {
    throw new Error(
      `Hosts are at work in the fleet ${settings.fleet} (${live.join(', ')}); stop them first, so that nothing is missing.`,
    )
  }
  const building = directory + unfinished
  await removeUnfinished(building, files)
  // One that got its name, and the command was ended before it could say so.
  await removeUnfinished(directory, files)
  await makePrivateDirectory(files, building)
  await writeFileAtomically(files, join(building, markerFile), '', privateFileMode)
  let left: LeaveResult
  try {
    left = await build({ ...settings, directory: building })
  } catch (error) {
    await files.rm(building, { recursive: true, force: true }).catch(() => undefined)
    // What the journal says of its disk is for a host among others.
    const reason = storageFault(error instanceof Problem ? error.cause : error)
    throw reason === undefined ? error : new Error(reason, { cause: error })
  }
  await files.rename(building, directory)
  await syncDirectory(files, dirname(directory))
  // Last: whenever the command is ended, what it has made is known as its own.
  await files.rm(join(directory, markerFile))
  await syncDirectory(files, directory)
  return left
}

async function requireFree(directory: string, files: FileSystem): Promise<void> {
  const names = await readNames(files, directory)
  if (names.length === 0 || isUnfinished(names)) return
  const lock = await lockDirectory(directory)
  await lock?.release({ withFile: true })
  if (lock === undefined) throw new Error(`A host is running in ${directory}; stop it first.`)
  throw new Error(`${directory} is not empty; name a new directory, where the single host is to be.`)
}

/** Whether this command has made it, was ended, and no host has run in it since. */
function isUnfinished(names: readonly string[]): boolean {
  if (names.every((name) => name.startsWith(markerFile))) return true
  return names.includes(markerFile) && !names.some((name) => /^\.host\.(?:lock|names)/.test(name))
}

async function removeUnfinished(building: string, files: FileSystem): Promise<void> {
  const inTheWay = `${building} is in the way; move it away.`
  const names = await readNames(files, building).catch((error: unknown) => {
    // Whose it is, nobody knows.
    throw new Error(`${inTheWay} It cannot be read (${messageOf(error)}).`, { cause: error })
  })
  if (names.length > 0 && !isUnfinished(names)) throw new Error(inTheWay)
  await files.rm(building, { recursive: true, force: true })
}

async function build(settings: MembershipSettings): Promise<LeaveResult> {
  const { directory, connection, fleet, files, clock, ring } = settings
  // Which of the fields are secret is not known yet: then every text and number may be.
  const vault = createSecretVault(ring, () => undefined)
  const journal = await openFleetJournal({
    ...{ connection, fleet, directory, files, clock, vault, logger: silentLogger, mustExist: true },
    // From here on it is the only one.
    isCopy: false,
  })
  let left: LeaveResult
  try {
    const stores = await openFleetStores(settings)
    // What a host has begun to write down when it died is promised, and no other host is there to write the rest.
    for (const plugin of journal.state.plugins.keys()) await journal.finishBegun(plugin)
    const { state } = journal
    left = {
      seq: state.seq,
      ...(await takeFiles(settings, stores.files, state)),
      values: [],
    }
    const { values, leftOut } = await takeValues(settings, stores.values)
    left.values = values
    left.leftOut.push(...leftOut)
    const snapshots = createSnapshotWriter({
      ...{ directory, files, clock, logger: silentLogger, kept: undefined, vault },
      state: () => journal.state,
      eventId: (seq) => journal.eventId(seq),
    })
    snapshots.start()
    await snapshots.flush()
    await snapshots.close()
    if (snapshots.failure !== undefined) throw new Error(snapshots.failure)
  } finally {
    await journal.close()
  }
  // As the single host will read it.
  const check = await openJournal({
    ...{ directory, files, clock, logger: silentLogger, acknowledged: left.seq, vault, whole: true },
  })
  await check.close()
  return { ...left, seq: check.state.seq }
}

/** Present and kept versions, in the places where a single host has them. */
async function takeFiles(
  { directory, files }: MembershipSettings,
  fleetFiles: FleetFiles,
  state: HostState,
): Promise<Pick<LeaveResult, 'plugins' | 'leftOut'>> {
  const places = pluginPlaces(directory, files)
  const plugins: string[] = []
  const leftOut: LeaveResult['leftOut'] = []
  async function take(what: string, id: string, integrity: Integrity, root: string): Promise<void> {
    let contents: ReadonlyMap<string, Uint8Array>
    try {
      contents = await fleetFiles.fetch(id, integrity)
    } catch (error) {
      if (!(error instanceof StoreRefusedError)) throw error
      leftOut.push({ what, reason: messageOf(error) })
      return
    }
    for (const [file, content] of contents) {
      if (isContainedPath(file)) await writeDurably(files, root, file, content)
      else
        leftOut.push({ what: `${file} of ${id}`, reason: 'it is not a path inside the folder of the plugin' })
    }
  }
  for (const { context } of installedIn(state)) {
    const { id, integrity, kept } = context
    const name = directoryName(identifierOf(id))
    plugins.push(id)
    await take(`the files of ${id}`, id, integrity, join(places.plugins, name))
    for (const [index, release] of kept.entries()) {
      const root = index === 0 ? join(places.previous, name) : join(places.older, name, randomUUID())
      await take(`the files of ${id} ${release.version}, which was replaced`, id, release.integrity, root)
    }
  }
  return { plugins, leftOut }
}

async function takeValues(
  { directory, files, clock, ring }: MembershipSettings,
  bucket: ValueBucket,
): Promise<Pick<LeaveResult, 'values' | 'leftOut'>> {
  const values: string[] = []
  const leftOut: LeaveResult['leftOut'] = []
  await makePrivateDirectory(files, storesFolderIn(directory))
  for (const plugin of await retrying(clock, () => bucket.plugins())) {
    const found = await retrying(clock, () => bucket.record(plugin))
    try {
      if (found === undefined) continue
      if (found.record === undefined) throw new Error(found.reason)
      const { record } = found
      const entries = await retrying(clock, () => bucket.entries(plugin, record))
      if (entries.size === 0) continue
      const content = encodeStore(plugin, Object.fromEntries(entries), ring)
      await writeFileAtomically(files, storePath(directory, plugin), content, privateFileMode)
      values.push(plugin)
    } catch (error) {
      const isElsewhere = error instanceof SecretKeyError || error instanceof StoreUnreachableError
      if (isElsewhere || systemErrorCode(error) !== undefined) throw error
      leftOut.push({ what: `the stored values of ${plugin}`, reason: messageOf(error) })
    }
  }
  return { values, leftOut }
}
