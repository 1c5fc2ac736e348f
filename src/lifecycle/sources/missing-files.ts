import { Problem } from '../../base/problem.ts'
import { abortable } from '../../base/time/abortable.ts'
import type { RequestedVersion, StagedPlugin } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { manifestFile } from '../../schema/manifest/manifest.ts'
import type { FilesSource, Origin, PluginFact } from '../../schema/journal/journal-event.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { originRepository } from './install-source.ts'
import type { CancellableStart } from '../running/load-cancellation.ts'
import { leavingSecrets } from '../secrets/former-secrets.ts'

/** What an entry written by hand is taken to be until its files are there. */
export const unknownVersion = '0.0.0'

/**
 * Gives a plugin in `loading` the files that it lacks: its folder was deleted by hand, or its entry was written by
 * hand. They are those of the version that the journal names, from the versions that are kept or else from the
 * repository; only if nobody has that one it is another. What they are is written down.
 */
export async function restoreMissingFiles(
  context: LifecycleContext,
  id: string,
  by: Origin,
  { signal, whileFetching }: Pick<CancellableStart, 'signal' | 'whileFetching'>,
): Promise<void> {
  const { journal, directory, sharedFiles, logger } = context
  const identifier = identifierOf(id)
  const wanted = snapshotOfPlugin(context, id).context
  const isKnown = Object.keys(wanted.integrity).length > 0
  const version = wanted.version ?? unknownVersion

  async function writeDown(
    source: FilesSource,
    data: Pick<Release, 'version' | 'integrity'> & Partial<Release>,
  ): Promise<void> {
    const { indexVersion, repository } = wanted
    const declaresTheSame = data.integrity[manifestFile] === wanted.integrity[manifestFile]
    const leaving = declaresTheSame ? {} : leavingSecrets(context, id)
    const fact: PluginFact = {
      type: 'PluginFilesRestored',
      plugin: id,
      data: { indexVersion, repository, ...data, source, ...leaving },
    }
    await journal.append([fact], by)
    if (version === unknownVersion) return
    if (version === data.version) {
      tellChanges(data)
      return
    }
    const sentence = `Version ${version} could not be had any more; this is ${data.version}`
    logger.warn('Another version takes the place of missing files', {
      plugin: id,
      wanted: version,
      found: data.version,
    })
    context.effects.logFor(id, 'warn', sentence)
  }

  /** A version may have been published anew, and what is kept may have been edited: nobody is asked before it runs. */
  function tellChanges({ integrity }: Pick<Release, 'integrity'>): void {
    const before = wanted.integrity
    const files = Object.keys({ ...before, ...integrity }).filter((file) => before[file] !== integrity[file])
    if (!isKnown || files.length === 0) return
    logger.warn('Other files of the same version take the place of missing ones', {
      plugin: id,
      version,
      files,
    })
    const sentence = `The files of version ${version} were missing, and what takes their place is not all as it was installed: ${files.join(', ')}`
    context.effects.logFor(id, 'warn', sentence)
  }

  if (await directory.exists(identifier)) {
    if (isKnown) return
    // Somebody has put them there since.
    const { manifest, integrity } = await directory.read(identifier)
    await sharedFiles?.put((await directory.contents(identifier)).values())
    await writeDown('folder', { version: manifest.version, indexVersion: manifest.version, integrity })
    return
  }
  const release = { version, integrity: wanted.integrity }
  if (await directory.hasKept(identifier, release)) {
    await directory.restore(identifier, release)
    const { integrity } = await directory.read(identifier)
    await writeDown('kept', { version, integrity })
    return
  }
  const staged = await whileFetching(() =>
    abortable(
      signal,
      fetchFiles(context, id, version, signal),
      () => new Error(String(signal.reason)),
      (late) => late.discard(),
    ),
  ).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error
    // Nobody has asked for a repository, but for the plugin.
    const { code, errors, message } = error
    throw new Problem(code, `The files of ${id} are missing. ${message}`, {
      ...(errors === undefined ? {} : { errors }),
      cause: error,
    })
  })
  try {
    const { manifest, indexVersion, repository, integrity } = staged
    await sharedFiles?.put(staged.contents.values())
    // The fact first: after a crash between the two, these files are fetched again.
    await writeDown('repository', { version: manifest.version, indexVersion, repository, integrity })
    await staged.swapIn()
    logger.info('Fetched the missing files of a plugin', { plugin: id, repository, was: version })
  } finally {
    await staged.discard()
  }
}

type Release = (PluginFact & { type: 'PluginFilesRestored' })['data']

async function fetchFiles(
  context: LifecycleContext,
  id: string,
  version: string,
  signal: AbortSignal,
): Promise<StagedPlugin> {
  const { repositories, fetches, logger } = context
  const from = await originRepository(context, id)
  signal.throwIfAborted()
  // Else nobody sees why it takes a while.
  logger.info('The files of a plugin are missing; its repository is asked for them', {
    plugin: id,
    repository: from.name,
  })
  context.effects.logFor(id, 'info', `Its files are missing: the repository "${from.name}" is asked for them`)
  const stage = (wish: RequestedVersion): Promise<StagedPlugin> =>
    repositories.stage(from, identifierOf(id), wish, signal)
  return fetches.run(from.name, signal, async () => {
    if (version === unknownVersion) return stage({})
    try {
      return await stage({ version })
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'plugin_not_in_repository') throw error
      logger.info('The repository does not have the version of the missing files', { plugin: id, error })
      return stage({ installed: version })
    }
  })
}
