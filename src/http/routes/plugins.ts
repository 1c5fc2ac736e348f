import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import {
  ChangeCheckAnswer,
  InstallBody,
  installRequest,
  PluginAnswer,
  PluginsAnswer,
  PluginsQuery,
  UninstallAnswer,
  UninstallQuery,
  UpdateBody,
} from '../../schema/api/api.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import { createPluginList } from '../answers/plugin-list.ts'
import { type Answer, defineRoute, type Route } from '../route.ts'
import { commandContext, commandProblems, fetchProblems, pluginAnswer, pluginIdOf } from './plugin-route.ts'

/** Plugins as things: list, read, install, uninstall. */
export function pluginRoutes(lifecycle: LifecycleFacade): Route[] {
  const list = createPluginList()
  return [
    defineRoute({
      method: 'GET',
      path: '/api/plugins',
      summary: 'Lists the installed plugins',
      query: PluginsQuery,
      answers: { 200: PluginsAnswer },
      handle: async ({ query }) => list((await lifecycle.list()).filter((plugin) => matches(plugin, query))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/plugins/install',
      summary: 'Installs a plugin from a repository; it is not enabled yet',
      body: InstallBody,
      answers: { 201: PluginAnswer },
      answerHeaders: { Location: 'Address of the plugin' },
      problems: [
        'already_installed',
        'invalid_transition',
        'revision_conflict',
        'storage_full',
        'dependency_unmet',
        'host_version_unsupported',
        ...fetchProblems,
      ],
      async handle(request) {
        const { fullId } = request.body
        const by = await commandContext(lifecycle, fullId, request)
        return installed(await lifecycle.install(installRequest(request.body), by))
      },
      async recall(plugin) {
        const found = (await lifecycle.list()).find(({ id }) => id === plugin)
        return found === undefined ? undefined : installed(found)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/plugins/install/check',
      summary: 'Says what an installation would bring; fetches and verifies, and changes nothing',
      body: InstallBody,
      answers: { 200: ChangeCheckAnswer },
      problems: ['already_installed', 'invalid_transition', ...fetchProblems],
      handle: async ({ body }) => ({ body: await lifecycle.checkInstall(installRequest(body)) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/plugins/:id/update/check',
      summary: 'Says what an update would bring; fetches and verifies, and changes nothing',
      body: UpdateBody,
      answers: { 200: ChangeCheckAnswer },
      problems: ['plugin_not_installed', 'ambiguous_id', ...fetchProblems],
      async handle({ body, parameters }) {
        const id = pluginIdOf(lifecycle, parameters)
        return { body: await lifecycle.checkUpdate(id, body.version ?? undefined) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/plugins/:id',
      summary: 'One installed plugin',
      answers: { 200: PluginAnswer },
      problems: ['plugin_not_installed', 'ambiguous_id'],
      async handle({ parameters }) {
        const id = pluginIdOf(lifecycle, parameters)
        const [connections, plugin] = await Promise.all([lifecycle.connections(id), lifecycle.get(id)])
        return pluginAnswer({ ...plugin, ...(connections.length === 0 ? {} : { connections }) })
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/plugins/:id',
      also: '/plugins/:id',
      summary: 'Uninstalls a plugin; its files and its key-value store stay unless purge names them',
      query: UninstallQuery,
      answers: { 200: UninstallAnswer },
      problems: commandProblems,
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        const asked = request.query.purge?.split(',') ?? []
        const purge = (['kv', 'files'] as const).filter((target) => asked.includes(target))
        return { body: await lifecycle.uninstall(id, purge, await commandContext(lifecycle, id, request)) }
      },
      recall: async (plugin) => ({ body: { id: plugin, state: 'uninstalled' } }),
    }),
  ]
}

function installed(plugin: Plugin): Answer {
  const answer = pluginAnswer(plugin, 201)
  const location = `/api/plugins/${encodeURIComponent(plugin.id)}`
  return { ...answer, headers: { ...answer.headers, Location: location } }
}

function matches(plugin: Plugin, { state, tag, q }: PluginsQuery): boolean {
  if (state !== undefined && plugin.state !== state) return false
  // An empty one is a form without a choice, as with an empty text.
  if (tag !== undefined && tag !== '' && !plugin.tags.includes(tag)) return false
  if (q === undefined) return true
  const wanted = q.toLowerCase()
  return [plugin.id, plugin.name, plugin.description ?? '', plugin.author ?? '', ...plugin.tags].some(
    (text) => text.toLowerCase().includes(wanted),
  )
}
