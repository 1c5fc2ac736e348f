import { isDeepStrictEqual } from 'node:util'
import { Problem, type ProblemDetail } from '../../base/problem.ts'
import { decide, requireInstalled } from '../../journal/fold/decide.ts'
import type { ConfigCheck } from '../../schema/api/api.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'
import { type CheckedConfig, checkConfig } from '../manifests/config-rules.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { CommandContext, Lifecycle } from '../lifecycle.ts'
import type { PluginQueries } from '../queries/plugin-queries.ts'
import type { Reload } from '../loading/reload.ts'
import { restoreConfig } from '../installing/restore-config.ts'
import { possibleSecretPlaces } from '../secrets/former-secrets.ts'
import { restoredPlaces } from '../secrets/restore-secrets.ts'
import { hideSecrets } from '../secrets/secrets.ts'

/** Checking and changing what a plugin is configured with. */
export interface Configuration extends Pick<Lifecycle, 'checkConfig'> {
  /** Called under the plugin's mutex. Throws `config_invalid`. */
  configure(id: string, config: Config, command: CommandContext): Promise<void>
}

export function createConfiguration(
  context: LifecycleContext,
  { get, reload }: Pick<PluginQueries, 'get'> & { reload: Reload },
): Configuration {
  const { manifests } = context

  function checkedConfig(id: string, incoming: Config): { stored: Config; check: CheckedConfig } {
    const { config: stored, errors } = restoreConfig(context, id, incoming)
    const environment = context.environment(manifests.get(id) ?? {})
    const check = checkConfig(manifests.fields(id), stored, environment)
    return { stored, check: { ...check, errors: [...errors, ...check.errors] } }
  }

  /**
   * Only the owner, over HTTP, may send a stored secret to a new place by its placeholder. For everybody else it stands
   * for the secret while all is as it was: who does not know it does not choose what it is used with.
   */
  function misplaced(by: Origin, incoming: Config, stored: Config, before: Config): ProblemDetail[] {
    if (by === 'http' || isDeepStrictEqual(stored, before)) return []
    const message = `must be the value itself: over MQTT ${hiddenValue} keeps the stored one only while no other value changes`
    return restoredPlaces(incoming, stored, '/config').map((path) => ({ path, message }))
  }

  return {
    checkConfig(id, config): ConfigCheck {
      get(id)
      const { errors, missing, effective } = checkedConfig(id, config).check
      const wrong = [...errors, ...missing]
      return {
        valid: wrong.length === 0,
        errors: wrong,
        effective: hideSecrets(possibleSecretPlaces(context, id), effective),
      }
    },
    async configure(id, config, by) {
      const snapshot = snapshotOfPlugin(context, id)
      requireInstalled(snapshot)
      const { stored, check } = checkedConfig(id, config)
      // A disabled plugin may be configured bit by bit; a running one must not be left without what it needs.
      const wrong = [
        ...check.errors,
        ...(snapshot.context.enabled ? check.missing : []),
        ...misplaced(by.by, config, stored, snapshot.context.config),
      ]
      if (wrong.length > 0) {
        throw new Problem(
          'config_invalid',
          `The configuration of ${id} was not saved: ${wrong.length} of its values cannot be used.`,
          { errors: wrong },
        )
      }
      await reload(id, decide(snapshot, { type: 'configure', config: stored }), 'config', by)
    },
  }
}
