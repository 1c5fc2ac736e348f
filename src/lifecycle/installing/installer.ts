import { messageOf, Problem } from '../../base/problem.ts'
import { asStorageProblem } from '../../base/files/storage-fault.ts'
import { decide } from '../../journal/fold/decide.ts'
import type { InstalledFiles, StagedPlugin } from '../../repository/repository.ts'
import { requireHost } from '../../repository/require-host.ts'
import { isNewer } from '../../repository/versions.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Origin, PluginFact, PluginJournalEvent } from '../../schema/journal/journal-event.ts'
import { allFiles, type Manifest } from '../../schema/manifest/manifest.ts'
import { changedPermissions } from './changed-permissions.ts'
import { installedVersion, type LifecycleContext, pluginError, snapshotOfPlugin } from '../context.ts'
import { checkDependencies, unmetMessage } from '../loading/dependency-check.ts'
import { explainCycles } from './dependency-cycles.ts'
import { fetchInstallation, fetchUpdate } from './fetch-files.ts'
import { storedByOther } from '../sources/last-installation.ts'
import { type LeftoverFiles, findLeftoverFiles } from '../sources/leftover-files.ts'
import type { CommandContext, InstallRequest, PurgeTarget, ReleasableTurn } from '../lifecycle.ts'
import type { Loader } from '../loading/loader.ts'
import { matchFilesToJournal, readAhead } from '../sources/match-files.ts'
import type { ShownManifests } from './shown-manifests.ts'
import { createUnloadAndLoad } from './unload-and-load.ts'
import { createRollbacks, type Rollbacks } from './rollbacks.ts'
import { leavingSecrets } from '../secrets/former-secrets.ts'
import type { FailedUpdate, PluginError } from '../../schema/plugin/plugin.ts'
import { tellOfUpdate, warnOfManifest, warnOfPermissions } from './release-warnings.ts'

/** Changes which files of a plugin are there. Every function is called under the plugin's mutex. */
export interface Installer extends Rollbacks {
  install(request: InstallRequest, command: CommandContext): Promise<void>
  /** Answers why the version before is back, if it is. */
  update(
    id: string,
    version: string | undefined,
    command: CommandContext,
    turn: ReleasableTurn,
  ): Promise<FailedUpdate | undefined>
  uninstall(id: string, purge: readonly PurgeTarget[], command: CommandContext): Promise<void>
  /** Removes what the uninstallation was asked to remove that is the last of its facts: a crash, or a full disk, came between. */
  completePurge(id: string): Promise<void>
}

export function createInstaller(context: LifecycleContext, loader: Loader, shown: ShownManifests): Installer {
  const { journal, directory, manifests, stores, retained, purges, sharedFiles, logger } = context
  const { unloadIfRunning, loadIfEnabled } = createUnloadAndLoad(context, loader)
  const rollbacks = createRollbacks(context, loader)

  async function requireDependencies(id: string, manifest: Manifest): Promise<void> {
    const { unmet } = await checkDependencies(context, id, manifest)
    if (unmet.length === 0) return
    throw new Problem('dependency_unmet', unmetMessage(await explainCycles(context, id, manifest, unmet)))
  }

  /** Nothing is fetched and nothing moves: the files are in place. */
  async function installFolder(
    { manifest, ...release }: LeftoverFiles,
    id: string,
    by: Origin,
    requestKey: string | undefined,
  ): Promise<void> {
    requireHost({ fullId: id }, manifest.minHostVersion, context.hostVersion)
    await requireDependencies(id, manifest)
    await sharedFiles?.put((await directory.contents(identifierOf(id))).values())
    const { repository, version } = release
    const requested = decide(snapshotOfPlugin(context, id), { type: 'install', repository, version })
    const data = { ...release, source: 'folder' } as const
    await journal.append([...requested, { type: 'PluginInstalled', plugin: id, data }], by, requestKey)
    manifests.set(id, manifest)
    warnOfManifest(logger, id, manifest)
    await directory.prune(identifierOf(id), [])
    logger.warn('Installed a plugin from its folder: no repository could be asked for it', {
      plugin: id,
      version,
      repository,
    })
  }

  function releaseData(staged: StagedPlugin) {
    const { manifest, indexVersion, repository, integrity } = staged
    return { version: manifest.version, indexVersion, repository, integrity }
  }

  /** What is offered is what is installed: only what the index calls it may be news. */
  async function confirmVersion(
    id: string,
    indexVersion: string,
    by: Origin,
    requestKey: string | undefined,
  ): Promise<void> {
    if (!isNewer(indexVersion, installedVersion(context, id) ?? '')) return
    const data = { indexVersion, keepsRevision: true } as const
    await journal.append([{ type: 'PluginVersionConfirmed', plugin: id, data }], by, requestKey)
  }

  /** Puts files back that are gone or no good: what can be read is its owner's to have changed, and stays. */
  async function replaceUnreadable(id: string, staged: StagedPlugin, by: Origin): Promise<void> {
    await matchFilesToJournal(context, id)
    const present = await readAhead(context, id)
    if (present !== undefined) {
      await bringBackDocuments(id, staged, present)
      return
    }
    await unloadIfRunning(id, 'update', by)
    try {
      await staged.swapIn()
      manifests.set(id, staged.manifest)
    } finally {
      await loadIfEnabled(id, 'update', by)
    }
    logger.warn('Fetched the files of a plugin again: they could not be read', { plugin: id })
  }

  /** A plugin runs without its documents: those that are gone come back beside what is there. */
  async function bringBackDocuments(
    id: string,
    { contents }: StagedPlugin,
    { manifest, integrity }: InstalledFiles,
  ): Promise<void> {
    const gone = [...contents].filter(
      ([file]) => allFiles(manifest).includes(file) && !Object.hasOwn(integrity, file),
    )
    if (gone.length === 0) return
    const plugin = identifierOf(id)
    await directory.place(plugin, new Map([...(await directory.contents(plugin)), ...gone]))
    const files = gone.map(([file]) => file)
    logger.warn('Fetched documents of a plugin again: they were missing', { plugin: id, files })
  }

  /** Of an update that has been loaded: why the version before is back, if it is. */
  async function endOfTrial(id: string): Promise<FailedUpdate | undefined> {
    const { version, error } = snapshotOfPlugin(context, id).context
    const hasReturned = await rollbacks.returnFromTrial(id)
    return error !== null && hasReturned ? failedUpdate(version ?? '', error) : undefined
  }

  async function purgeFiles(id: string, purge: readonly PurgeTarget[]): Promise<void> {
    if (purge.includes('kv')) await asStorageProblem(() => stores.remove(id))
    if (purge.includes('files')) await directory.remove(identifierOf(id))
    if (purge.length > 0) await purges.end(id)
  }

  async function completePurge(id: string): Promise<void> {
    const last = journal.last(id) as PluginJournalEvent | undefined
    if (last?.type === 'PluginUninstalled') await purgeFiles(id, last.data.purged as PurgeTarget[])
  }

  return {
    async install(request, { by, requestKey }) {
      const id = request.fullId
      decide(snapshotOfPlugin(context, id), {
        type: 'install',
        repository: request.repository ?? null,
        version: request.version ?? null,
      })
      // Fetched and checked beforehand: an installation that cannot be done leaves nothing behind.
      const fetched = await fetchInstallation(context, request).catch(async (error: unknown) => {
        await installFolder(await findLeftoverFiles(context, request, error), id, by, requestKey)
      })
      if (fetched === undefined) return
      const { staged, heldBy } = fetched
      try {
        shown.requireNoMore(id, staged.manifest)
        await requireDependencies(id, staged.manifest)
        await sharedFiles?.put(staged.contents.values())
        const { repository } = staged
        const version = staged.manifest.version
        // Else this one would find what was to be gone, and the next start leave it to it.
        if ((await purges.left())(id)) await completePurge(id)
        const storedBy = storedByOther(context, id, repository)
        // Another host of the fleet may have installed it meanwhile.
        const requested = decide(snapshotOfPlugin(context, id), { type: 'install', repository, version })
        await journal.append(requested, by)
        try {
          await staged.swapIn()
        } catch (error) {
          const code = error instanceof Problem ? error.code : 'internal'
          const data = { error: pluginError(context, code, messageOf(error)) }
          // Without the key of the request: nothing was done, so one that comes again is to be carried out.
          await journal.append([{ type: 'PluginInstallFailed', plugin: id, data }], by)
          throw error
        }
        const installed = releaseData(staged)
        await journal.append([{ type: 'PluginInstalled', plugin: id, data: installed }], by, requestKey)
        manifests.set(id, staged.manifest)
        warnOfManifest(logger, id, staged.manifest)
        // An earlier installation may have left versions that nobody can return to any more.
        await directory.prune(identifierOf(id), [])
        const done = { plugin: id, version, repository }
        if (storedBy !== null)
          logger.warn('A plugin can read what one of its name from another repository has stored', {
            ...done,
            storedBy,
          })
        if (heldBy === null) logger.info('Installed a plugin', done)
        else
          logger.warn('Installed a plugin of a namespace that belongs to another repository', {
            ...done,
            heldBy,
          })
      } finally {
        await staged.discard()
      }
    },

    async update(id, version, { by, requestKey }, turn) {
      const staged = await fetchUpdate(context, id, version, turn)
      const before = snapshotOfPlugin(context, id).context
      try {
        const same = JSON.stringify(staged.integrity) === JSON.stringify(before.integrity)
        if (staged.manifest.version === before.version && same) {
          await confirmVersion(id, staged.indexVersion, by, requestKey)
          await replaceUnreadable(id, staged, by)
          const { enabled, error } = snapshotOfPlugin(context, id).context
          // The disk may have refused what follows from an update before this one.
          const isUntried = error === null || loader.hasFailedTransiently(id)
          if (enabled && isUntried && snapshotOfPlugin(context, id).value !== 'running')
            await loadIfEnabled(id, 'update', by)
          return await endOfTrial(id)
        }
        shown.requireNoMore(id, staged.manifest)
        await requireDependencies(id, staged.manifest)
        await sharedFiles?.put(staged.contents.values())
        await unloadIfRunning(id, 'update', by)
        context.unverifiedFiles.add(id)
        try {
          await staged.swapIn()
        } catch (error) {
          await loadIfEnabled(id, 'update failed', by)
          throw error
        }
        const { added } = changedPermissions(context, id, manifests.get(id), staged.manifest)
        const data = {
          ...releaseData(staged),
          from: before.version,
          ...(added.length === 0 ? {} : { permissionsAdded: added }),
          ...leavingSecrets(context, id),
        }
        const fact: PluginFact = { type: 'PluginUpdated', plugin: id, data }
        try {
          await journal.append([fact], by, requestKey)
          context.unverifiedFiles.delete(id)
        } catch (error) {
          // The journal says the old version, so the old version it is; later, if not now.
          await staged
            .undo()
            .catch((failed: unknown) =>
              logger.error('The files of a plugin could not be put back', { plugin: id, error: failed }),
            )
          await loadIfEnabled(id, 'update failed', by).catch(() => undefined)
          throw error
        }
        const { version: now, repository } = data
        tellOfUpdate(logger, id, { was: before.version, version: now, repository, wanted: version })
        warnOfPermissions(logger, id, staged.manifest, added)
        manifests.set(id, staged.manifest)
        warnOfManifest(logger, id, staged.manifest)
        await directory.prune(identifierOf(id), snapshotOfPlugin(context, id).context.kept)
        await loadIfEnabled(id, 'update', by)
        return await endOfTrial(id)
      } finally {
        await staged.discard()
      }
    },

    ...rollbacks,

    async uninstall(id, purge, { by, requestKey }) {
      if (purge.length > 0) await asStorageProblem(() => purges.begin(id))
      await unloadIfRunning(id, 'uninstall', by)
      const leaving = leavingSecrets(context, id)
      const facts = decide(snapshotOfPlugin(context, id), {
        type: 'uninstall',
        purged: [...purge],
        ...leaving,
      })
      await journal.append(facts, by, requestKey)
      await retained.clear(id)
      await purgeFiles(id, purge)
      manifests.forget(id)
      logger.info('Uninstalled a plugin', { plugin: id, purged: purge })
    },

    completePurge,
  }
}

function failedUpdate(version: string, { code, message }: PluginError): FailedUpdate {
  // The present version's form does not show what only the next one asks for, but what no field names is kept.
  const help =
    code === 'config_invalid'
      ? ' Save its configuration with that first, and update then; or switch it off, update, and set it.'
      : ''
  return { version, code, message: message + help }
}
