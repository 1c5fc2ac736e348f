import { Problem } from '../../base/problem.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { EmptyBody, HooksAnswer } from '../../schema/api/api.ts'
import { hookRoute } from '../hooks/hook-requests.ts'
import { defineRoute, type Route } from '../route.ts'
import { changeRoute, pluginIdOf } from './plugin-route.ts'

/** The addresses at which plugins are asked from outside: what their owner does with them, and what they are. */
export function hookRoutes(lifecycle: LifecycleFacade): Route[] {
  const answered = (method: 'GET' | 'POST'): Route =>
    defineRoute({
      method,
      path: hookRoute,
      summary:
        'What the handler of a plugin answers; with any method and body, and a path of several segments',
      open: true,
      answers: { 200: null },
      produces: ['*/*'],
      problems: [
        ...(['unauthorized', 'not_found', 'method_not_allowed', 'body_invalid', 'body_too_large'] as const),
        ...(['too_many_requests', 'hook_failed', 'hook_unavailable', 'hook_timeout'] as const),
        ...(['plugin_moving', 'fleet_unreachable'] as const),
      ],
      handle() {
        // Such a request never gets here: it is answered before anything else is asked of it.
        throw new Problem('not_found', 'No plugin answers at this address.')
      },
    })
  return [
    defineRoute({
      method: 'GET',
      path: '/api/plugins/:id/hooks',
      summary: 'Where a running plugin can be asked from outside, with the secret parts of the addresses',
      answers: { 200: HooksAnswer },
      problems: ['plugin_not_installed', 'ambiguous_id'],
      handle: async ({ parameters }) => ({
        body: { hooks: await lifecycle.hooks(pluginIdOf(lifecycle, parameters)) },
      }),
    }),
    changeRoute(
      lifecycle,
      {
        path: '/api/plugins/:id/hook-secret',
        summary:
          'Renews the secret part of the addresses; the old addresses are gone, and nothing is reloaded',
        body: EmptyBody,
      },
      (id, _body, by) => lifecycle.renewHookSecret(id, by),
    ),
    answered('GET'),
    answered('POST'),
  ]
}
