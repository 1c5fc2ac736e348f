import { isDeepStrictEqual } from 'node:util'
import { createKeyedMutex } from '../../base/mutex.ts'
import { Problem } from '../../base/problem.ts'
import { decide, requireInstalled } from '../../journal/fold/decide.ts'
import { isInstalled } from '../../journal/fold/evolve.ts'
import { parseFullId } from '../../schema/names/identifier.ts'
import type { FailedUpdate, Plugin } from '../../schema/plugin/plugin.ts'
import { readChosenLimits } from '../../schema/plugin/plugin-limits.ts'
import type { ChangeChecker } from '../installing/change-checker.ts'
import type { CommandRunner, Interrupting } from './command-runner.ts'
import type { Configuration } from './configuration.ts'
import { isSafeMode, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Installer } from '../installing/installer.ts'
import type { CommandContext, InstallRequest, Lifecycle, ReleasableTurn } from '../lifecycle.ts'
import type { Loader } from '../loading/loader.ts'
import type { PluginLogs } from '../running/plugin-logs.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'
import type { Reload } from '../loading/reload.ts'

/** What callers may do with a plugin. */
export type PluginCommands = Pick<
  Lifecycle,
  | 'install'
  | 'checkInstall'
  | 'toggle'
  | 'configure'
  | 'limit'
  | 'reload'
  | 'update'
  | 'checkUpdate'
  | 'rollback'
  | 'uninstall'
>

export function createPluginCommands(
  context: LifecycleContext,
  parts: Pick<PluginQueries, 'get'> & {
    commands: CommandRunner
    loader: Loader
    installer: Installer
    changes: ChangeChecker
    reload: Reload
    configuration: Configuration
    logs: PluginLogs
  },
): PluginCommands {
  const { journal } = context
  const { commands, loader, installer, changes, reload, configuration, logs, get } = parts
  /** An update releases its turn, but whoever goes back meanwhile means the version that comes of it. */
  const versions = createKeyedMutex()

  /** A command that answers how the plugin is afterwards. */
  function change(
    by: CommandContext,
    id: string,
    task: () => Promise<void>,
    interrupting?: Interrupting,
  ): Promise<Plugin> {
    return commands.run(by, id, task, () => get(id), interrupting)
  }

  return {
    async install(request, by) {
      const id = requestedId(request)
      return change(by, id, () => installer.install(request, by))
    },
    async checkInstall(request) {
      commands.requireRunning()
      requestedId(request)
      return changes.install(request)
    },
    async toggle(id, enabled, by) {
      const task = async (): Promise<void> => {
        const facts = decide(snapshotOfPlugin(context, id), {
          type: 'toggle',
          enabled,
          deferred: isSafeMode(context),
        })
        if (facts.length === 0) return
        const isLoadedNext = facts.some(({ type }) => type === 'PluginEnabled') && !isSafeMode(context)
        // Reading changes nothing, so it need not wait for the fact.
        const ahead = isLoadedNext ? loader.readAhead(id) : undefined
        await journal.append(facts, by.by, by.requestKey)
        const state = snapshotOfPlugin(context, id).value
        if (state === 'loading') await loader.finishLoading(id, by.by, ahead)
        if (state === 'unloading') await loader.finishUnloading(id, by.by)
      }
      // Nobody waits for a load to switch the plugin off. One that is not there is being installed, perhaps.
      const present = snapshotOfPlugin(context, id)
      const switchesOff = isInstalled(present) && !(enabled ?? !present.context.enabled)
      return change(by, id, task, switchesOff ? { name: 'toggle', ends: 'everything' } : undefined)
    },
    async configure(id, config, by) {
      return change(by, id, () => configuration.configure(id, config, by), anew('configure'))
    },
    async limit(id, limits, by) {
      const task = async (): Promise<void> => {
        const snapshot = snapshotOfPlugin(context, id)
        requireInstalled(snapshot)
        const { chosen, errors } = readChosenLimits(limits, '/limits')
        if (errors.length > 0) {
          throw new Problem(
            'limits_invalid',
            `The limits of ${id} were not saved: ${errors.length} of them cannot be used.`,
            { errors },
          )
        }
        if (isDeepStrictEqual(chosen, snapshot.context.limits)) return
        await reload(id, decide(snapshot, { type: 'limit', limits: chosen }), 'limits', by)
      }
      return change(by, id, task, anew('limits'))
    },
    async reload(id, by) {
      const task = async (): Promise<void> => {
        decide(snapshotOfPlugin(context, id), { type: 'reload' })
        if (isSafeMode(context)) {
          throw new Problem(
            'invalid_transition',
            `The host is in safe mode, so ${id} is not loaded; leave safe mode first.`,
          )
        }
        await reload(id, [], 'reload', by)
      }
      return change(by, id, task, anew('reload'))
    },
    async update(id, version, by) {
      let failedUpdate: FailedUpdate | undefined
      const task = async (turn: ReleasableTurn): Promise<void> => {
        requireInstalled(snapshotOfPlugin(context, id))
        failedUpdate = await installer.update(id, version, by, turn)
      }
      const outcome = (): Plugin => (failedUpdate === undefined ? get(id) : { ...get(id), failedUpdate })
      return versions.run(id, () => commands.run(by, id, task, outcome, anew('update')))
    },
    async checkUpdate(id, version) {
      commands.requireRunning()
      return changes.update(id, version)
    },
    async rollback(id, version, by) {
      const task = (): Promise<void> => {
        requireInstalled(snapshotOfPlugin(context, id))
        return installer.rollback(id, version, by)
      }
      return versions.run(id, () => change(by, id, task, anew('rollback')))
    },
    async uninstall(id, purge, by) {
      const task = (): Promise<void> => {
        requireInstalled(snapshotOfPlugin(context, id))
        return installer.uninstall(id, purge, by)
      }
      const outcome = (): { id: string; state: 'uninstalled' } => {
        logs.forget(id)
        return { id, state: 'uninstalled' }
      }
      return commands.run(by, id, task, outcome, { name: 'uninstall', ends: 'everything' })
    },
  }
}

/** A command after which the plugin is loaded anew: it does not wait for a load that only waits for a repository. */
const anew = (name: string): Interrupting => ({ name, ends: 'fetch of a load' })

/** The full id of what is to be installed. Throws `body_invalid`. */
function requestedId({ fullId, id }: InstallRequest): string {
  const identifier = parseFullId(fullId)
  if (identifier === undefined) {
    const errors = [{ path: '/fullId', message: 'must be @namespace/shortId' }]
    throw new Problem('body_invalid', 'fullId must have the form @namespace/shortId.', { errors })
  }
  if (id !== undefined && id !== identifier.shortId && id !== identifier.fullId) {
    const errors = [{ path: '/id', message: `must be ${identifier.shortId}, to match fullId` }]
    throw new Problem('body_invalid', `id and fullId name different plugins.`, { errors })
  }
  return identifier.fullId
}
