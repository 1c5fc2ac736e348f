import type { TSchema } from 'typebox'
import type { Json } from '../../base/text/json.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import {
  ControlAnswer,
  ControlBody,
  ControlsAnswer,
  ExposedAnswer,
  ExposuresAnswer,
  LogsAnswer,
  LogsQuery,
  MachineStateAnswer,
  ObjectsAnswer,
  SensorsAnswer,
  VersionsAnswer,
} from '../../schema/api/api.ts'
import { defineRoute, type Route } from '../route.ts'
import { pluginIdOf, requireRevision } from './plugin-route.ts'

/** What a plugin shows of itself: log, objects, sensors, controls, place in its life. */
export function pluginViewRoutes(lifecycle: LifecycleFacade): Route[] {
  const common = { method: 'GET', problems: ['plugin_not_installed', 'ambiguous_id'] } as const
  const view = (path: string, summary: string, schema: TSchema, read: (id: string) => unknown): Route =>
    defineRoute({
      ...common,
      path,
      summary,
      answers: { 200: schema },
      handle: async ({ parameters }) => ({ body: await read(pluginIdOf(lifecycle, parameters)) }),
    })
  const setting = (
    path: string,
    summary: string,
    schema: TSchema,
    set: (id: string, value: Json, parameters: Readonly<Record<string, string>>) => Promise<unknown>,
  ): Route =>
    defineRoute({
      method: 'PUT',
      path,
      summary,
      body: ControlBody,
      answers: { 200: schema },
      problems: [
        ...common.problems,
        'control_unknown',
        'control_value_invalid',
        'revision_conflict',
        'shutting_down',
      ],
      async handle({ context, parameters, body }) {
        const id = pluginIdOf(lifecycle, parameters)
        await requireRevision(lifecycle, id, context)
        // The body is JSON, so what is in it is too.
        return { body: await set(id, body.value as Json, parameters) }
      },
    })
  return [
    defineRoute({
      ...common,
      path: '/api/plugins/:id/logs',
      summary: "The latest lines of a plugin's log, oldest first",
      query: LogsQuery,
      answers: { 200: LogsAnswer },
      handle: async ({ parameters, query }) => ({
        body: { logs: await lifecycle.logs(pluginIdOf(lifecycle, parameters), query) },
      }),
    }),
    view(
      '/api/plugins/:id/versions',
      'The installed version and those that a rollback can return to',
      VersionsAnswer,
      (id) => lifecycle.versions(id),
    ),
    view(
      '/api/plugins/:id/objects',
      'The objects that a plugin has in the registry',
      ObjectsAnswer,
      async (id) => ({ objects: await lifecycle.objects(id) }),
    ),
    view(
      '/api/plugins/:id/sensors',
      'The sensors of a plugin and their values',
      SensorsAnswer,
      async (id) => ({ sensors: await lifecycle.sensors(id) }),
    ),
    view(
      '/api/plugins/:id/controls',
      'The controls of a plugin and their values',
      ControlsAnswer,
      async (id) => ({ controls: await lifecycle.controls(id) }),
    ),
    setting(
      '/api/plugins/:id/controls/:control',
      'Sets a control',
      ControlAnswer,
      (id, value, { control = '' }) => lifecycle.setControl(id, control, value, 'over HTTP or a page'),
    ),
    view(
      '/api/plugins/:id/exposures',
      'What a plugin shows with expose(), and the values of its features',
      ExposuresAnswer,
      async (id) => ({ exposures: await lifecycle.exposures(id) }),
    ),
    setting(
      '/api/plugins/:id/exposures/:exposure/:feature',
      'Sets a feature of what a plugin exposes; answers the value that is known then',
      ExposedAnswer,
      async (id, value, { exposure = '', feature = '' }) => {
        await lifecycle.setExposed(id, exposure, feature, value, 'over HTTP or a page')
        const after = (await lifecycle.exposures(id)).find((shown) => shown.id === exposure)
        return { id: exposure, feature, value: after?.state[feature] ?? null }
      },
    ),
    view(
      '/api/plugins/:id/machine',
      'The state of a plugin and the events that it would take now',
      MachineStateAnswer,
      async (id) => {
        await lifecycle.get(id)
        return lifecycle.machineState(id)
      },
    ),
  ]
}
