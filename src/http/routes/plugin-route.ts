import { quoted } from '../../base/text/cut-text.ts'
import type { Context } from 'koa'
import type { Static, TObject, TSchema } from 'typebox'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { CommandContext } from '../../lifecycle/lifecycle.ts'
import { PluginAnswer } from '../../schema/api/api.ts'
import { isIdentifierPart, parseFullId } from '../../schema/names/identifier.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import { expectedRevision } from '../requests/if-match.ts'
import { type Answer, defineRoute, type Route, type RouteDefinition, type RouteRequest } from '../route.ts'

/** What the routes of a plugin share. */

/** Codes of what may go wrong when a plugin is told to do something. */
export const commandProblems: readonly ProblemCode[] = [
  'plugin_not_installed',
  'ambiguous_id',
  'invalid_transition',
  'revision_conflict',
  'shutting_down',
  'storage_full',
]

/** Codes of what may go wrong when a version of a plugin is fetched from its repository. */
export const fetchProblems: readonly ProblemCode[] = [
  'ambiguous_repository',
  'integrity_mismatch',
  'signature_invalid',
  'manifest_invalid',
  'plugin_not_in_repository',
  'repository_unknown',
  'repository_unreachable',
  'shutting_down',
]

/** The full id that a path names. Throws `plugin_not_installed`, `ambiguous_id`. */
export function pluginIdOf(lifecycle: LifecycleFacade, parameters: Readonly<Record<string, string>>): string {
  const text = parameters.id ?? ''
  if (parseFullId(text) === undefined && !isIdentifierPart(text)) {
    throw new Problem(
      'plugin_not_installed',
      `${quoted(text)} is no plugin id: it must be @namespace/shortId, or a short id.`,
    )
  }
  return lifecycle.resolveId(text)
}

/** Who asks for a change to a plugin, and under which conditions. Throws `revision_conflict`. */
export async function commandContext(
  lifecycle: LifecycleFacade,
  plugin: string,
  { context, requestKey }: Pick<RouteRequest<unknown, unknown>, 'context' | 'requestKey'>,
): Promise<CommandContext> {
  const expectedRevision = await askedRevision(lifecycle, plugin, context)
  return { by: 'http', expectedRevision, requestKey }
}

/** For a change that leaves no fact behind: checks `If-Match` at once. Throws `revision_conflict`. */
export async function requireRevision(
  lifecycle: LifecycleFacade,
  plugin: string,
  context: Context,
): Promise<void> {
  const asked = await askedRevision(lifecycle, plugin, context)
  const { revision } = await lifecycle.get(plugin)
  if (asked === undefined || asked === revision) return
  throw new Problem('revision_conflict', `${plugin} is at revision ${revision}, not ${asked}; read it again.`)
}

function askedRevision(
  lifecycle: LifecycleFacade,
  plugin: string,
  context: Context,
): Promise<number | undefined> {
  return expectedRevision(context.headers['if-match'], () => revisionOf(lifecycle, plugin))
}

async function revisionOf(lifecycle: LifecycleFacade, plugin: string): Promise<number | undefined> {
  try {
    return (await lifecycle.get(plugin)).revision
  } catch (error) {
    if (error instanceof Problem && error.code === 'plugin_not_installed') return undefined
    throw error
  }
}

/** The plugin as it is now, with its revision as the entity tag. */
export function pluginAnswer(plugin: Plugin, status = 200): Answer {
  return { status, body: plugin, headers: { ETag: `"${plugin.revision}"` } }
}

interface ChangeDefinition<Body extends TSchema>
  extends
    Pick<RouteDefinition<Body, TObject>, 'path' | 'also' | 'summary'>,
    Partial<Pick<RouteDefinition<Body, TObject>, 'method'>> {
  body: Body
  /** Codes that it raises beside `commandProblems`. */
  problems?: readonly ProblemCode[]
}

/** A command on the plugin that the path names; answers how that is afterwards. A POST, unless it says otherwise. */
export function changeRoute<Body extends TSchema>(
  lifecycle: LifecycleFacade,
  { problems = [], ...definition }: ChangeDefinition<Body>,
  change: (id: string, body: Static<Body>, by: CommandContext) => Promise<Plugin>,
): Route {
  return defineRoute<Body>({
    method: 'POST',
    ...definition,
    answers: { 200: PluginAnswer },
    problems: [...commandProblems, ...problems],
    recall: async (plugin) => pluginAnswer(await lifecycle.get(plugin)),
    async handle(request) {
      const id = pluginIdOf(lifecycle, request.parameters)
      const by = await commandContext(lifecycle, id, request)
      return pluginAnswer(await change(id, request.body, by))
    },
  })
}
