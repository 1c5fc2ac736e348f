import { isDeepStrictEqual } from 'node:util'
import { rethrowSystemFault } from '../../base/files/system-fault.ts'
import type { InstalledFiles } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'

/** Files of a plugin held against the journal. */
export interface MatchedFiles {
  /** Whether they are of the version that the journal names; their manifest is known then. */
  matches: boolean
  /** What was read, if it is that very version to the last byte. */
  installed?: InstalledFiles
}

/** Files of a plugin that is to be loaded, read while something else is waited for; undefined when they cannot be read. */
export type FilesAhead = Promise<InstalledFiles | undefined>

export interface MatchOptions {
  ahead?: FilesAhead | undefined
  /** Another host of the fleet may have changed the plugin: other files are nothing to be warned of. */
  mirrored?: boolean
}

export function readAhead({ directory }: LifecycleContext, id: string): FilesAhead {
  return directory.read(identifierOf(id)).catch(() => undefined)
}

/** Whether these are the files that the journal names. */
export function isOfJournal(context: LifecycleContext, id: string, { integrity }: InstalledFiles): boolean {
  return isDeepStrictEqual(integrity, snapshotOfPlugin(context, id).context.integrity)
}

/**
 * Sees to it that the files are those that the journal names. A crash, or a full disk, between a swap of files and its
 * fact, or the other way round: the journal decides which version it is. Throws `storage_full` when the files cannot
 * be put back.
 */
export async function matchFilesToJournal(
  context: LifecycleContext,
  id: string,
  options: MatchOptions = {},
): Promise<MatchedFiles> {
  // Until it is through.
  context.unverifiedFiles.add(id)
  const matched = await match(context, id, options)
  context.unverifiedFiles.delete(id)
  return matched
}

async function match(
  context: LifecycleContext,
  id: string,
  { ahead, mirrored = false }: MatchOptions,
): Promise<MatchedFiles> {
  const { directory, effects, manifests } = context
  const identifier = identifierOf(id)
  const wanted = snapshotOfPlugin(context, id).context
  const isKnown = Object.keys(wanted.integrity).length > 0
  const reading = isKnown ? (ahead ?? readAhead(context, id)) : undefined
  await directory.settle(identifier)
  if (!isKnown) return { matches: false }
  const installed = await reading
  // What was read before a swap was settled counts just as well: it is what the journal names.
  if (installed !== undefined && isOfJournal(context, id, installed)) {
    manifests.set(id, installed.manifest)
    return { matches: true, installed }
  }
  if (!(await directory.exists(identifier))) return { matches: false }
  const release = { version: wanted.version ?? '', integrity: wanted.integrity }
  const present = await directory.readManifest(identifier).catch(rethrowSystemFault)
  // A file edited by hand is told when the plugin is loaded; it is no other version.
  const isOther =
    present?.version === release.version
      ? await directory.matchesKeptVersion(identifier, release)
      : await directory.hasKept(identifier, release)
  if (!isOther) {
    if (present !== undefined) manifests.set(id, present)
    return { matches: present !== undefined }
  }
  await directory.restore(identifier, release)
  if (!mirrored)
    effects.logFor(
      id,
      'warn',
      `Its files were other ones; they are those of version ${release.version} again`,
    )
  return { matches: false }
}
