import { Problem } from '../../base/problem.ts'
import { decide, releaseToReturnTo } from '../../journal/fold/decide.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import { checkDependencies } from '../loading/dependency-check.ts'
import type { Loader } from '../loading/loader.ts'
import { leavingSecrets } from '../secrets/former-secrets.ts'
import { matchFilesToJournal } from '../sources/match-files.ts'
import { createUnloadAndLoad } from './unload-and-load.ts'

/** The way back to a version that was replaced. Every function is called under the plugin's mutex. */
export interface Rollbacks {
  rollback(id: string, version: string | undefined, command: CommandContext): Promise<void>
  /** Takes a plugin that failed in the trial of an update back to the version before. Whether it did. */
  returnFromTrial(id: string): Promise<boolean>
  /** Whether that could not be written down. */
  isReturning(id: string): boolean
}

export function createRollbacks(context: LifecycleContext, loader: Loader): Rollbacks {
  const { journal, effects, directory, manifests, logger } = context
  const { unloadIfRunning, loadIfEnabled } = createUnloadAndLoad(context, loader)
  /** Plugins that are to go back to the version before an update. */
  const returning = new Set<string>()

  /**
   * A crash in mid-update may have cost a version that a rollback is to return to: another one must not take its place in
   * silence. Throws `invalid_transition`, also when there is no such version.
   */
  async function requireKeptFiles(id: string, version: string | undefined): Promise<void> {
    await matchFilesToJournal(context, id)
    const release = releaseToReturnTo(snapshotOfPlugin(context, id), version)
    if (await directory.hasKept(identifierOf(id), release)) return
    throw new Problem(
      'invalid_transition',
      `The files of ${id} ${release.version} are not on this host any more; update to that version instead.`,
    )
  }

  /** The fact first: after a crash between the two, the files follow it. */
  async function rollBack(
    id: string,
    asked: { reason: string; version?: string; automatic?: true },
    by: Origin,
    requestKey?: string,
  ): Promise<void> {
    const snapshot = snapshotOfPlugin(context, id)
    const command = { type: 'rollback', ...asked, ...leavingSecrets(context, id) } as const
    await journal.append(decide(snapshot, command), by, requestKey)
    const { integrity, version: back, kept } = snapshotOfPlugin(context, id).context
    context.unverifiedFiles.add(id)
    await directory.restore(identifierOf(id), { version: back ?? '', integrity })
    context.unverifiedFiles.delete(id)
    await directory.prune(identifierOf(id), kept)
    await manifests.refresh(id)
  }

  return {
    async rollback(id, version, { by, requestKey }) {
      await requireKeptFiles(id, version)
      await unloadIfRunning(id, 'rollback', by)
      await rollBack(
        id,
        { reason: 'asked for', ...(version === undefined ? {} : { version }) },
        by,
        requestKey,
      )
      await loadIfEnabled(id, 'rollback', by)
    },

    async returnFromTrial(id) {
      const snapshot = snapshotOfPlugin(context, id)
      const { trial, version, error, kept } = snapshot.context
      const [before] = kept
      returning.delete(id)
      // The machine was short of something: nobody knows of the version yet, and the one before would fare no better.
      if (loader.hasFailedTransiently(id)) return false
      // Without an error nobody has tried it yet: nothing is loaded in safe mode.
      const hasFailed = snapshot.value === 'failed' && error !== null
      if (trial === null || before === undefined || !hasFailed) return false
      const manifest = await directory.readKeptManifest(identifierOf(id), before)
      if (manifest === undefined) {
        logger.error('An update does not run, and the files of the version before are gone', {
          plugin: id,
          error,
        })
        return false
      }
      // What the update needs was there when it was made. Without it the version before does not run either, perhaps.
      if (error.code === 'dependency_unmet') {
        const { unmet } = await checkDependencies(context, id, manifest)
        if (unmet.length > 0) return false
      }
      const reason = `version ${version} did not run: ${error.message}`
      returning.add(id)
      await rollBack(id, { reason, automatic: true }, 'supervisor')
      returning.delete(id)
      effects.logFor(
        id,
        'warn',
        before.version === version
          ? `The update to other files of ${version} does not run, so the former ones return`
          : `The update to ${version} does not run, so ${before.version} returns`,
      )
      await loadIfEnabled(id, 'rollback', 'supervisor')
      return true
    },

    isReturning: (id) => returning.has(id),
  }
}
