import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/time/clock.ts'
import { type FileSystem, writeFileAtomically } from '../base/files/file-system.ts'
import type { JsonObject } from '../base/text/json.ts'
import { createKeyRing, type KeyRing } from '../base/keys/key-ring.ts'
import { silentLogger } from '../base/log/log.ts'
import { openJournal } from '../journal/journal.ts'
import { privateFileMode } from '../base/files/private-files.ts'
import { rewriteJournal } from '../journal/repair/rewrite.ts'
import { knownEnd } from '../journal/snapshot/known-end.ts'
import { readSnapshot, snapshotFileName } from '../journal/snapshot/snapshot.ts'
import { changeStoredState } from '../journal/fold/stored-state.ts'
import { changeEvent, changeHostFile, type SecretTransform } from '../journal/vault.ts'
import { encodeStore, storesFolderIn } from '../lifecycle/stores/key-value-file.ts'
import { createManifests } from '../lifecycle/manifests/manifests.ts'
import { createJournalVault } from '../lifecycle/secrets/journal-vault.ts'
import { createPluginDirectory } from '../repository/directories/plugin-directory.ts'
import { readStores } from './read-stores.ts'

export interface RewriteSettings {
  /** The data directory; its lock is held by the caller. */
  directory: string
  files: FileSystem
  clock: Clock
  /** Opens what is encrypted now. */
  ring: KeyRing
  /** `rotate`: everything secret is encrypted with the first key; `decrypt`: nothing is any more. */
  purpose: 'rotate' | 'decrypt'
}

export interface Rewritten {
  events: number
  stores: number
  /** Files that were left as they are, with the reason. */
  leftOut: { file: string; reason: string }[]
}

/**
 * Writes everything that may hold secrets anew. Each file is replaced as a whole, and each encrypted value names
 * its key, so what is interrupted (also by a power cut) is simply done again. Nothing is written before all
 * could be read. Throws what `openJournal` and `readSnapshot` throw.
 */
export async function rewriteSecrets(settings: RewriteSettings): Promise<Rewritten> {
  const { directory, files, clock, ring, purpose } = settings
  const target = purpose === 'rotate' ? ring : createKeyRing([])
  const manifests = createManifests(
    createPluginDirectory({ directory, files, logger: silentLogger }),
    silentLogger,
  )
  const { vault: present } = createJournalVault(ring, manifests)
  const { vault: next, follow } = createJournalVault(target, manifests)

  const file = await readSnapshot(files, directory, present)
  const { acknowledged, witness } = await knownEnd(files, directory, file)
  const journal = await openJournal({
    ...{ directory, files, clock, logger: silentLogger, acknowledged, witness, vault: present, whole: true },
  })
  follow(journal)
  await journal.close()
  await Promise.all([...journal.state.plugins.keys()].map(manifests.refresh))
  const stores = await readStores(settings)
  const unread = stores.leftOut.find(({ code }) => code !== undefined)
  // It would keep the former key, which nobody keeps afterwards.
  if (unread !== undefined) {
    throw new Error(
      `The stored values in ${unread.file} cannot be read (${unread.code}); correct that, or move the file away, and run this ` +
        'again. Nothing was changed.',
    )
  }

  for (const { path, plugin, entries } of stores.read) {
    const content = encodeStore(plugin, Object.fromEntries(entries), target)
    await writeFileAtomically(files, path, content, privateFileMode)
  }
  /** The old files are gone after this. */
  function changed<T>(change: (transform: SecretTransform, stored: T) => T, stored: T): T {
    const plain = change(present.open, stored)
    const sealed = change(next.seal, plain)
    if (!isDeepStrictEqual(change(next.open, sealed), plain)) throw new Error('it would not be the same')
    return sealed
  }
  const events = await rewriteJournal(files, directory, {
    event: (stored) => changed<JsonObject>(changeEvent, stored),
    state: (stored) => changed(changeStoredState, stored),
  })
  if (file !== undefined) {
    const content = `${JSON.stringify(changeHostFile(next.seal, file), null, 2)}\n`
    await writeFileAtomically(files, join(directory, snapshotFileName), content, privateFileMode)
  }
  return { events, stores: stores.read.length, leftOut: [...stores.leftOut, ...(await copies(directory))] }
}

/** What was put aside as damaged may hold secrets, too, and cannot be changed: its owner decides. */
async function copies(directory: string): Promise<Rewritten['leftOut']> {
  const names = [
    ...(await readdir(directory)).map((name) => join(directory, name)),
    ...(await readdir(storesFolderIn(directory)).catch(() => [])).map((name) =>
      join(storesFolderIn(directory), name),
    ),
  ]
  return names
    .filter((path) => /\.damaged-|\.tmp$/.test(path))
    .map((file) => ({ file, reason: 'a copy that was put aside; delete it when nobody needs it' }))
}
