import { isDeepStrictEqual } from 'node:util'
import { isSystemFault } from '../../base/files/system-fault.ts'
import { messageOf, Problem } from '../../base/problem.ts'
import { isTransient, StaleDecisionError } from '../../journal/fold/stale-decision.ts'
import type { InstalledFiles } from '../../repository/repository.ts'
import { requireHost } from '../../repository/require-host.ts'
import { IsolateError } from '../../sandbox/isolate.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Origin, PendingRestart, PluginFact } from '../../schema/journal/journal-event.ts'
import { manifestFile, withWarnings } from '../../schema/manifest/manifest.ts'
import { labelAndPath } from '../../schema/manifest/setting-label.ts'
import type { PluginError } from '../../schema/plugin/plugin.ts'
import { checkConfig } from '../manifests/config-rules.ts'
import { unusableDefaults } from '../manifests/fields.ts'
import { type LifecycleContext, pluginError, snapshotOfPlugin } from '../context.ts'
import type { CrashReport, DescribeCrash } from './crash-report.ts'
import { dependenciesElsewhereMessage, dependenciesElsewhere } from './dependencies-elsewhere.ts'
import { checkDependencies, unmetMessage } from './dependency-check.ts'
import { type FilesAhead, isOfJournal, matchFilesToJournal, readAhead } from '../sources/match-files.ts'
import { restoreMissingFiles } from '../sources/missing-files.ts'
import { fetchRetry } from './restart-policy.ts'
import type { CancellableStart } from '../running/load-cancellation.ts'
import type { LoadRequest } from '../running/plugin-effects.ts'
import { secretPlaces } from '../secrets/former-secrets.ts'
import { wholeConfig } from '../secrets/secret-places.ts'
import { secretValues } from '../secrets/secrets.ts'

/**
 * Brings a plugin from `loading` or `unloading` to where it settles, and writes down what came of it. Every
 * function is called under the plugin's mutex.
 */
export interface Loader {
  /** Begins to read the files of a plugin that is to be loaded, while something else is waited for. Never rejects. */
  readAhead(id: string): FilesAhead
  /**
   * `loading` → `running` or `failed`. Rejects only when the outcome could not be written down. `ahead`: its files, if
   * somebody has begun to read them.
   */
  finishLoading(id: string, by: Origin, ahead?: FilesAhead): Promise<void>
  /**
   * Loads a plugin that another host has left in `running`: as far as anybody sees it has run all the time. Only that it cannot
   * is written down.
   */
  resume(id: string): Promise<void>
  /** `unloading` → `unloaded`, followed in the same write by `next`. */
  finishUnloading(id: string, by: Origin, next?: readonly PluginFact[]): Promise<void>
  /** Takes a state that nothing works on any more (a crash, a full disk) to one that commands start from. */
  settle(id: string): Promise<void>
  /** Whether its last load failed for a reason outside of the plugin: the system was short of something, say. */
  hasFailedTransiently(id: string): boolean
  /** Remembers such a failure of a load that could not even be written down. */
  noteTransientFailure(id: string): void
  /** Remembers why a plugin ended, for `settle` to write down. */
  recordCrash(id: string, error: PluginError): void
}

export function createLoader(context: LifecycleContext, describeCrash: DescribeCrash): Loader {
  const { journal, effects, loads, directory, manifests, logger } = context
  const crashes = new Map<string, CrashReport>()
  const failedTransiently = new Set<string>()
  /** Loads in a row that failed as the repository could not be read, since anybody but the supervisor asked for one. */
  const unfetched = new Map<string, number>()
  /** By a clock that does not jump, in ms. */
  const loadedAt = new Map<string, number>()

  async function prepare(
    id: string,
    by: Origin,
    load: CancellableStart,
    ahead: FilesAhead | undefined,
    tellChanged: (files: string[]) => void,
  ): Promise<LoadRequest> {
    const identifier = identifierOf(id)
    const installed = (await filesOfJournal(id, ahead)) ?? (await otherFiles(id, by, load))
    const { manifest } = installed
    manifests.set(id, manifest)
    tellChanged(changedFiles(id, installed))
    requireHost(identifier, manifest.minHostVersion, context.hostVersion)
    const { unmet, warnings: misnamed } = await checkDependencies(context, id, manifest)
    const mistakes = [...(manifest.warnings ?? []), ...unusableDefaults(manifest), ...misnamed]
    manifests.set(id, withWarnings(manifest, mistakes))
    const fields = manifests.fields(id)
    for (const { path, message } of mistakes) effects.logFor(id, 'warn', `${manifestFile} ${path} ${message}`)
    if (unmet.length > 0) throw new Problem('dependency_unmet', unmetMessage(unmet))
    const { config, limits, trial } = snapshotOfPlugin(context, id).context
    // A version that is tried may need what the one before did not; both move together when it is kept.
    const elsewhere = trial === null ? dependenciesElsewhere(context, id) : []
    if (elsewhere.length > 0)
      throw new Problem('dependency_unmet', dependenciesElsewhereMessage(context, id, elsewhere))
    const environment = context.environment(manifest)
    const { errors, missing, warnings, effective } = checkConfig(fields, config, environment)
    const wrong = [...errors, ...missing]
    if (wrong.length > 0) {
      const list = wrong.map(({ path, message }) => `${labelAndPath(fields, path)} ${message}`).join('; ')
      throw new Problem('config_invalid', `The configuration of ${id} cannot be used: ${list}.`, {
        errors: wrong,
      })
    }
    for (const { path, message } of warnings)
      effects.logFor(id, 'warn', `The setting ${labelAndPath(fields, path)} ${message}`)
    const { host, epoch } = context.ownership.whereabouts(id)
    const places = secretPlaces(context, id) ?? wholeConfig(fields)
    return {
      ...{ id, installed, config: effective, secrets: secretValues(places, effective), limits },
      ...(host === null || epoch === null ? {} : { host, epoch }),
    }
  }

  /** The files that the journal names, if they are there. */
  async function filesOfJournal(
    id: string,
    ahead: FilesAhead | undefined,
  ): Promise<InstalledFiles | undefined> {
    const { readAtStart } = context
    const read = readAtStart.get(id)
    const isMatched = readAtStart.delete(id)
    if (read !== undefined && isOfJournal(context, id, read)) return read
    return isMatched ? undefined : (await matchFilesToJournal(context, id, { ahead })).installed
  }

  /** What is there instead of them: edited by hand, or fetched again. */
  async function otherFiles(id: string, by: Origin, load: CancellableStart): Promise<InstalledFiles> {
    await restoreMissingFiles(context, id, by, load)
    return directory.read(identifierOf(id))
  }

  /** Files that are not as they were installed, or not there. */
  function changedFiles(id: string, installed: InstalledFiles): string[] {
    const recorded = snapshotOfPlugin(context, id).context.integrity
    const changed = Object.keys(recorded).filter((file) => recorded[file] !== installed.integrity[file])
    if (changed.length > 0) {
      logger.warn('Files of a plugin have changed since it was installed', { plugin: id, files: changed })
      effects.logFor(id, 'warn', `Changed since the installation: ${changed.join(', ')}`)
    }
    return changed
  }

  /** What is known of changed files that is not known already: with many loads that fail it is mostly nothing. */
  function changedSince(id: string, changed: string[] | undefined): { changedFiles?: string[] } {
    const known = snapshotOfPlugin(context, id).context.changedFiles
    return changed === undefined || isDeepStrictEqual(changed, known) ? {} : { changedFiles: changed }
  }

  function asPluginError(id: string, error: unknown): PluginError {
    if (error instanceof IsolateError || error instanceof Problem)
      return pluginError(context, error.code, error.message)
    logger.error('A plugin could not be loaded because of the host', { plugin: id, error })
    return pluginError(context, 'internal', messageOf(error))
  }

  /**
   * Facts that follow from a state to which the loader itself has taken the plugin. If the journal refuses them, another host
   * of the fleet has had it meanwhile: whoever asked decides anew, and does not read of facts that are not theirs.
   */
  async function record(facts: readonly PluginFact[], by: Origin): Promise<void> {
    try {
      await journal.append(facts, by)
    } catch (error) {
      const [{ plugin } = {}] = facts
      const isRefused = error instanceof Problem && error.code === 'invalid_transition'
      throw isRefused && plugin !== undefined ? new StaleDecisionError(plugin, error) : error
    }
  }

  async function settle(id: string): Promise<void> {
    const state = snapshotOfPlugin(context, id).value
    if (state === 'installing') {
      // In a fleet another host is at it.
      if (!context.ownership.owns(id)) return
      const error = pluginError(
        context,
        'internal',
        'The host stopped while the files were being put in place.',
      )
      await record([{ type: 'PluginInstallFailed', plugin: id, data: { error } }], 'supervisor')
    } else if (
      state === 'loading' ||
      state === 'unloading' ||
      (state === 'running' && !effects.isLoaded(id))
    ) {
      await effects.unload(id)
      const crash = crashes.get(id)
      const fact: PluginFact =
        crash !== undefined && state === 'running'
          ? describeCrash(id, crash)
          : { type: 'PluginUnloaded', plugin: id, data: { reason: 'interrupted' } }
      await record([fact], 'supervisor')
    }
    crashes.delete(id)
    // Whatever is done to it next goes by what its manifest says, which values are secret among it.
    if (manifests.isUnread(id)) await manifests.refresh(id)
  }

  /** Files that are missing may be had once the repository can be read. */
  function restartAfter(id: string, error: unknown, by: Origin): { restart?: PendingRestart } {
    if (!(error instanceof Problem) || error.code !== 'repository_unreachable') {
      unfetched.delete(id)
      return {}
    }
    const attempt = by === 'supervisor' ? (unfetched.get(id) ?? 0) + 1 : 1
    unfetched.set(id, attempt)
    return { restart: fetchRetry(attempt) }
  }

  return {
    readAhead: (id) => readAhead(context, id),
    async resume(id) {
      const load = loads.begin(id)
      const { signal } = load
      failedTransiently.delete(id)
      try {
        const request = await prepare(id, 'supervisor', load, undefined, () => undefined)
        await effects.load(request, signal)
        loadedAt.set(id, context.clock.monotonic())
      } catch (error) {
        if (signal.aborted) return
        if (isTransient(error)) throw error
        if (isSystemFault(error)) failedTransiently.add(id)
        crashes.set(id, { error: asPluginError(id, error), ranFor: 0 })
        await settle(id)
      } finally {
        load.finish()
      }
    },
    async finishLoading(id, by, ahead) {
      let outcome: PluginFact
      let changed: string[] | undefined
      const load = loads.begin(id)
      const { signal } = load
      failedTransiently.delete(id)
      try {
        const request = await prepare(id, by, load, ahead, (files) => (changed = files))
        await effects.load(request, signal)
        loadedAt.set(id, context.clock.monotonic())
        unfetched.delete(id)
        outcome = {
          type: 'PluginLoaded',
          plugin: id,
          data: changed !== undefined && changed.length > 0 ? { changedFiles: changed } : {},
        }
      } catch (error) {
        if (signal.aborted) {
          // It says nothing about the plugin.
          outcome = { type: 'PluginUnloaded', plugin: id, data: { reason: String(signal.reason) } }
        } else if (isTransient(error)) {
          throw error
        } else if (!context.ownership.owns(id)) {
          // It was cut off here because another host is to have it: that says nothing about the plugin either.
          throw new StaleDecisionError(id, error)
        } else {
          const news = changedSince(id, changed)
          outcome = {
            type: 'PluginLoadFailed',
            plugin: id,
            data: { error: asPluginError(id, error), ...news, ...restartAfter(id, error, by) },
          }
          // What came of its code is in its log already, and what is there is in the host's.
          if (error instanceof Problem)
            effects.logFor(id, 'error', `The plugin could not be loaded: ${error.message}`)
          if (isSystemFault(error)) failedTransiently.add(id)
        }
      } finally {
        load.finish()
      }
      try {
        await record([outcome], by)
      } catch (error) {
        // What the journal does not know must not run.
        await effects.unload(id)
        throw error
      }
    },
    async finishUnloading(id, by, next = []) {
      await effects.unload(id)
      await record([{ type: 'PluginUnloaded', plugin: id, data: {} }, ...next], by)
    },
    settle,
    hasFailedTransiently: (id) => failedTransiently.has(id),
    noteTransientFailure: (id) => void failedTransiently.add(id),
    recordCrash(id, error) {
      const now = context.clock.monotonic()
      crashes.set(id, { error, ranFor: now - (loadedAt.get(id) ?? now) })
    },
  }
}
