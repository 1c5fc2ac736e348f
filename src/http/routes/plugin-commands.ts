import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import {
  ConfigBody,
  ConfigCheckAnswer,
  EmptyBody,
  LimitsAnswer,
  LimitsBody,
  PluginAnswer,
  RollbackBody,
  ToggleBody,
  UpdateBody,
} from '../../schema/api/api.ts'
import { limitDefinitions, limitNames, shownLimits } from '../../schema/plugin/plugin-limits.ts'
import { defineRoute, type Route } from '../route.ts'
import { commandContext, commandProblems, fetchProblems, pluginAnswer, pluginIdOf } from './plugin-id.ts'

/** What a plugin can be told to do. */
export function pluginCommandRoutes(lifecycle: LifecycleFacade): Route[] {
  const recall = async (plugin: string) => pluginAnswer(await lifecycle.get(plugin))
  const common = { method: 'POST', answers: { 200: PluginAnswer }, recall } as const
  return [
    defineRoute({
      ...common,
      path: '/api/plugins/:id/toggle',
      also: '/plugins/:id/toggle',
      summary: 'Enables or disables a plugin; without a body the other way round',
      body: ToggleBody,
      problems: commandProblems,
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await lifecycle.toggle(id, request.body.enabled, by))
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/config',
      also: '/plugins/:id/config',
      summary: 'Replaces the stored configuration, and reloads the plugin if it is enabled',
      body: ConfigBody,
      problems: [...commandProblems, 'config_invalid'],
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await lifecycle.configure(id, request.body.config, by))
      },
    }),
    defineRoute({
      ...common,
      method: 'PUT',
      path: '/api/plugins/:id/limits',
      summary:
        'Replaces what is set for this plugin, and reloads it if it is enabled; bounds: GET /api/limits',
      body: LimitsBody,
      problems: [...commandProblems, 'limits_invalid'],
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await lifecycle.limit(id, request.body.limits, by))
      },
    }),
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
    defineRoute({
      ...common,
      path: '/api/plugins/:id/reload',
      summary: 'Unloads and loads a plugin',
      body: EmptyBody,
      problems: commandProblems,
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        return pluginAnswer(await lifecycle.reload(id, await commandContext(lifecycle, id, request)))
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/update',
      summary: 'Brings a plugin to another version; back by itself if that one does not run',
      body: UpdateBody,
      problems: [...commandProblems, 'dependency_unmet', 'host_version_unsupported', ...fetchProblems],
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await lifecycle.update(id, request.body.version ?? undefined, by))
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/rollback',
      summary: 'Returns to the version before, or to another kept one, with the configuration it had',
      body: RollbackBody,
      problems: commandProblems,
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await lifecycle.rollback(id, request.body.version ?? undefined, by))
      },
    }),
  ]
}
