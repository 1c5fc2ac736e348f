import { join } from 'node:path'
import type { Clock } from '../../base/time/clock.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'
import type { KeyRing } from '../../base/keys/key-ring.ts'
import { silentLogger } from '../../base/log/log.ts'
import { installedIn, type PluginSnapshot } from '../../journal/fold/evolve.ts'
import { type Journal, openJournal } from '../../journal/journal.ts'
import { knownEnd } from '../../journal/snapshot/known-end.ts'
import { handEdits, readSnapshot, snapshotFileName } from '../../journal/snapshot/snapshot.ts'
import type { Vault } from '../../journal/vault.ts'
import { writtenSnapshot } from '../../journal/snapshot/written-snapshot.ts'
import { createManifests } from '../../lifecycle/manifests/manifests.ts'
import { createJournalVault } from '../../lifecycle/secrets/journal-vault.ts'
import { createPluginDirectory, integrityOf } from '../../repository/directories/plugin-directory.ts'
import { pluginPlaces } from '../../repository/directories/plugin-swap.ts'
import type { HostFile } from '../../schema/journal/host-file.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'
import type { Integrity } from '../../schema/journal/journal-event.ts'
import type { KeyValueEntry } from '../../schema/files/key-value-file.ts'
import { readStores } from '../read-stores.ts'
import { noHostError } from '../directory-owner.ts'
import { readContents, readKept } from './kept-files.ts'

/** What the data directory of a single host holds, for a fleet that it joins. Nothing of it is changed. */
export interface SingleHost {
  journal: Journal
  vault: Vault
  plugins: HostPlugin[]
  /** Stored values by plugin, also of those that are not installed any more. */
  values: Map<string, ReadonlyMap<string, KeyValueEntry>>
  /** What cannot be read, and why: it stays where it is. */
  leftOut: { file: string; reason: string }[]
}

export interface HostPlugin {
  id: string
  snapshot: PluginSnapshot
  /** As its files are now; undefined: they are not there, or cannot be used. */
  present: { version: string; integrity: Integrity } | undefined
  /** Contents of the files that are there, those of kept versions included. */
  contents: Uint8Array[]
}

export interface DirectorySettings {
  /** Held by the caller. */
  directory: string
  files: FileSystem
  clock: Clock
  ring: KeyRing
}

/** Throws one sentence when the directory is not at rest, or cannot be read. */
export async function readSingleHost(settings: DirectorySettings): Promise<SingleHost> {
  const { directory, files, clock, ring } = settings
  const pluginDirectory = createPluginDirectory({ directory, files, logger: silentLogger })
  const manifests = createManifests(pluginDirectory, silentLogger)
  const { vault, follow } = createJournalVault(ring, manifests)
  const file = await readSnapshot(files, directory, vault)
  const { acknowledged, witness } = await knownEnd(files, directory, file)
  const journal = await openJournal({
    ...{ directory, files, clock, logger: silentLogger, acknowledged, witness, vault, whole: true },
  })
  follow(journal)
  try {
    if (file === undefined && journal.live.seq === 0) {
      throw noHostError(directory)
    }
    if (file !== undefined && wasChanged(file)) {
      throw new Error(
        `${join(directory, snapshotFileName)} was changed by hand since the host ran. Start the host there once, so that it ` +
          'takes that over, stop it, and try again.',
      )
    }
    const snapshots = [...journal.state.plugins.values()]
    const restless = snapshots.find((snapshot) => unrest.has(snapshot.value))
    if (restless !== undefined) {
      throw new Error(
        `The host in ${directory} was not stopped in order, or "lupine fleet leave" has made the directory and no host has run ` +
          `in it: ${restless.context.id} is ${restless.value}. Start a host there once without HOST_FLEET_URL, stop it, and ` +
          'try again.',
      )
    }
    const installed = installedIn(journal.state)
    await Promise.all(installed.map(({ context }) => manifests.refresh(context.id)))
    const plugins: HostPlugin[] = []
    for (const snapshot of installed) plugins.push(await readPlugin(snapshot))
    const stores = await readStores(settings)
    const values = new Map(stores.read.map(({ plugin, entries }) => [plugin, entries]))
    return { journal, vault, plugins, values, leftOut: stores.leftOut }
  } catch (error) {
    await journal.close()
    throw error
  }

  /** Whether the host that starts here next would write something down because of it. */
  function wasChanged(file: HostFile): boolean {
    if (acknowledged > journal.live.seq) return true
    return handEdits(writtenSnapshot(directory, journal, file), file).length > 0
  }

  async function readPlugin(snapshot: PluginSnapshot): Promise<HostPlugin> {
    const { id, kept } = snapshot.context
    const identifier = identifierOf(id)
    const root = join(pluginPlaces(directory, files).plugins, directoryName(identifier))
    const found = await pluginDirectory.read(identifier).catch(rethrowSystemFault)
    const contents =
      found === undefined ? new Map<string, Uint8Array>() : await readContents(root, found.integrity)
    const keptContents = await readKept(settings, id, kept)
    const present =
      found === undefined ? undefined : { version: found.manifest.version, integrity: integrityOf(contents) }
    return { id, snapshot, present, contents: [...contents.values(), ...keptContents] }
  }
}

/** States in which something was going on. */
const unrest: ReadonlySet<string> = new Set(['installing', 'loading', 'running', 'unloading'])
