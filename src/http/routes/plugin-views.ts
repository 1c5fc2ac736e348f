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
import { pluginIdOf, requireRevision } from './plugin-id.ts'

/** What a plugin shows of itself: log, objects, sensors, controls, place in its life. */
export function pluginViewRoutes(lifecycle: LifecycleFacade): Route[] {
  const common = { method: 'GET', problems: ['plugin_not_installed', 'ambiguous_id'] } as const
  const setting = {
    method: 'PUT',
    body: ControlBody,
    problems: [
      ...common.problems,
      'control_unknown',
      'control_value_invalid',
      'revision_conflict',
      'shutting_down',
    ],
  } as const
  return [
    defineRoute({
      ...common,
      path: '/api/plugins/:id/logs',
      summary: "The latest lines of a plugin's log, oldest first",
      query: LogsQuery,
      answers: { 200: LogsAnswer },
      async handle({ parameters, query: { limit, level } }) {
        const filter = {
          ...(limit === undefined ? {} : { limit }),
          ...(level === undefined ? {} : { level }),
        }
        return { body: { logs: await lifecycle.logs(pluginIdOf(lifecycle, parameters), filter) } }
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/versions',
      summary: 'The installed version and those that a rollback can return to',
      answers: { 200: VersionsAnswer },
      handle: async ({ parameters }) => ({
        body: await lifecycle.versions(pluginIdOf(lifecycle, parameters)),
      }),
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/objects',
      summary: 'The objects that a plugin has in the registry',
      answers: { 200: ObjectsAnswer },
      handle: async ({ parameters }) => ({
        body: { objects: await lifecycle.objects(pluginIdOf(lifecycle, parameters)) },
      }),
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/sensors',
      summary: 'The sensors of a plugin and their values',
      answers: { 200: SensorsAnswer },
      handle: async ({ parameters }) => ({
        body: { sensors: await lifecycle.sensors(pluginIdOf(lifecycle, parameters)) },
      }),
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/controls',
      summary: 'The controls of a plugin and their values',
      answers: { 200: ControlsAnswer },
      handle: async ({ parameters }) => ({
        body: { controls: await lifecycle.controls(pluginIdOf(lifecycle, parameters)) },
      }),
    }),
    defineRoute({
      ...setting,
      path: '/api/plugins/:id/controls/:control',
      summary: 'Sets a control',
      answers: { 200: ControlAnswer },
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        await requireRevision(lifecycle, id, request.context)
        // The body is JSON, so what is in it is too.
        const value = request.body.value as Json
        return { body: await lifecycle.setControl(id, request.parameters.control ?? '', value) }
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/exposures',
      summary: 'What a plugin shows with expose(), and the values of its features',
      answers: { 200: ExposuresAnswer },
      handle: async ({ parameters }) => ({
        body: { exposures: await lifecycle.exposures(pluginIdOf(lifecycle, parameters)) },
      }),
    }),
    defineRoute({
      ...setting,
      path: '/api/plugins/:id/exposures/:exposure/:feature',
      summary: 'Sets a feature of what a plugin exposes; answers the value that is known then',
      answers: { 200: ExposedAnswer },
      async handle(request) {
        const id = pluginIdOf(lifecycle, request.parameters)
        await requireRevision(lifecycle, id, request.context)
        const { exposure = '', feature = '' } = request.parameters
        await lifecycle.setExposed(id, exposure, feature, request.body.value as Json)
        const after = (await lifecycle.exposures(id)).find((shown) => shown.id === exposure)
        return { body: { id: exposure, feature, value: after?.state[feature] ?? null } }
      },
    }),
    defineRoute({
      ...common,
      path: '/api/plugins/:id/machine',
      summary: 'The state of a plugin and the events that it would take now',
      answers: { 200: MachineStateAnswer },
      async handle({ parameters }) {
        const id = pluginIdOf(lifecycle, parameters)
        await lifecycle.get(id)
        return { body: lifecycle.machineState(id) }
      },
    }),
  ]
}
