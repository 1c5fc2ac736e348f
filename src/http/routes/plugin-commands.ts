import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import {
  ConfigBody,
  ConfigCheckAnswer,
  EmptyBody,
  LimitsAnswer,
  LimitsBody,
  RollbackBody,
  ToggleBody,
  UpdateBody,
} from '../../schema/api/api.ts'
import { limitDefinitions } from '../../schema/plugin/limit-definitions.ts'
import { limitNames, shownLimits } from '../../schema/plugin/plugin-limits.ts'
import { defineRoute, type Route } from '../route.ts'
import { changeRoute, fetchProblems, pluginIdOf } from './plugin-route.ts'

/** What a plugin can be told to do. */
export function pluginCommandRoutes(lifecycle: LifecycleFacade): Route[] {
  return [
    changeRoute(
      lifecycle,
      {
        path: '/api/plugins/:id/toggle',
        also: '/plugins/:id/toggle',
        summary: 'Enables or disables a plugin; without a body the other way round',
        body: ToggleBody,
      },
      (id, { enabled }, by) => lifecycle.toggle(id, enabled, by),
    ),
    changeRoute(
      lifecycle,
      {
        path: '/api/plugins/:id/config',
        also: '/plugins/:id/config',
        summary: 'Replaces the stored configuration, and reloads the plugin if it is enabled',
        body: ConfigBody,
        problems: ['config_invalid'],
      },
      (id, { config }, by) => lifecycle.configure(id, config, by),
    ),
    changeRoute(
      lifecycle,
      {
        method: 'PUT',
        path: '/api/plugins/:id/limits',
        summary:
          'Replaces what is set for this plugin, and reloads it if it is enabled; bounds: GET /api/limits',
        body: LimitsBody,
        problems: ['limits_invalid'],
      },
      (id, { limits }, by) => lifecycle.limit(id, limits, by),
    ),
    defineRoute({
      method: 'GET',
      path: '/api/limits',
      summary: 'What an owner may limit a plugin in, with bounds and the values of this host',
      answers: { 200: LimitsAnswer },
      handle: () => ({
        body: {
          limits: limitNames.map((name) => {
            const { unit, description, min, max } = limitDefinitions[name]
            return { name, unit, description, default: shownLimits(lifecycle.limits)[name], min, max }
          }),
        },
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/plugins/:id/config/check',
      summary: 'Says whether a configuration would do; saves nothing',
      body: ConfigBody,
      answers: { 200: ConfigCheckAnswer },
      problems: ['plugin_not_installed', 'ambiguous_id'],
      handle: async ({ parameters, body }) => ({
        body: await lifecycle.checkConfig(pluginIdOf(lifecycle, parameters), body.config),
      }),
    }),
    changeRoute(
      lifecycle,
      { path: '/api/plugins/:id/reload', summary: 'Unloads and loads a plugin', body: EmptyBody },
      (id, _body, by) => lifecycle.reload(id, by),
    ),
    changeRoute(
      lifecycle,
      {
        path: '/api/plugins/:id/update',
        summary:
          'Brings a plugin to another version; back by itself if that one does not run, with the reason in `failedUpdate`',
        body: UpdateBody,
        problems: ['dependency_unmet', 'host_version_unsupported', ...fetchProblems],
      },
      (id, { version }, by) => lifecycle.update(id, version ?? undefined, by),
    ),
    changeRoute(
      lifecycle,
      {
        path: '/api/plugins/:id/rollback',
        summary: 'Returns to the version before, or to another kept one, with the configuration it had',
        body: RollbackBody,
      },
      (id, { version }, by) => lifecycle.rollback(id, version ?? undefined, by),
    ),
  ]
}
