import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Fleet, LifecycleFacade } from '../../lifecycle/facade.ts'
import { EmptyBody, HostAnswer, HostsAnswer, PlacementBody, PluginAnswer } from '../../schema/api/api.ts'
import { isFleetName } from '../../schema/plugin/fleet-host.ts'
import { defineRoute, type Route } from '../route.ts'
import { commandContext, commandProblems, pluginAnswer, pluginIdOf } from './plugin-route.ts'

const hostProblems: readonly ProblemCode[] = ['not_found', 'host_unknown', 'shutting_down']

/** The hosts that work as one, and which of them a plugin may run on. `fleet`: undefined, this host works by itself. */
export function hostRoutes(lifecycle: LifecycleFacade, fleet: Fleet | undefined): Route[] {
  function theFleet(): Fleet {
    if (fleet !== undefined) return fleet
    throw new Problem(
      'not_found',
      'This host works by itself; with HOST_FLEET_URL it is one of a fleet, which has hosts and placements.',
    )
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/hosts',
      summary: 'The live hosts of the fleet; 404 for a host that works by itself',
      answers: { 200: HostsAnswer },
      problems: ['not_found'],
      handle: () => ({ body: { hosts: theFleet().hosts() } }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/hosts/:host/drain',
      summary:
        'Gives the plugins of a host to the others; answers when it has none left, and takes none again',
      body: EmptyBody,
      answers: { 200: HostAnswer },
      problems: [...hostProblems, 'no_other_host', 'invalid_transition'],
      async handle({ parameters, requestKey }) {
        const hosts = theFleet()
        return { body: await hosts.drain(hostIdOf(parameters), { by: 'http', requestKey }) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/hosts/:host/drain',
      summary: 'Lets a host take plugins again',
      answers: { 200: HostAnswer },
      problems: hostProblems,
      async handle({ parameters }) {
        const hosts = theFleet()
        return { body: await hosts.endDrain(hostIdOf(parameters), { by: 'http' }) }
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/plugins/:id/placement',
      summary: 'Replaces where in the fleet a plugin may run; it moves if it runs elsewhere',
      body: PlacementBody,
      answers: { 200: PluginAnswer },
      problems: ['not_found', 'no_other_host', ...commandProblems],
      recall: async (plugin) => pluginAnswer(await lifecycle.get(plugin)),
      async handle(request) {
        const hosts = theFleet()
        const id = pluginIdOf(lifecycle, request.parameters)
        const by = await commandContext(lifecycle, id, request)
        return pluginAnswer(await hosts.place(id, request.body, by))
      },
    }),
  ]
}

/** Throws `host_unknown` for what cannot be the name of a host. */
function hostIdOf({ host = '' }: Readonly<Record<string, string>>): string {
  if (isFleetName(host)) return host
  throw new Problem('host_unknown', 'A host of a fleet is called by 1 to 32 letters, digits, _ and -.')
}
