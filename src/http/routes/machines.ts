import type { AnyStateMachine } from 'xstate'
import { host } from '../../../machines/host.ts'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import { Problem } from '../../base/problem.ts'
import { MachineAnswer, MachineQuery, MachinesAnswer } from '../../schema/api/api.ts'
import { machineToJson, machineToMermaid, machineToScxml } from '../answers/machine-formats.ts'
import { defineRoute, type Route } from '../route.ts'

const machines = new Map<string, AnyStateMachine>(
  [host, pluginLifecycle].map((machine) => [machine.id, machine]),
)

export function machineRoutes(): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/machines',
      summary: 'Names of the state machines',
      answers: { 200: MachinesAnswer },
      handle: () => ({ body: { machines: [...machines.keys()].sort() } }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/machines/:name',
      summary: 'The definition of a state machine: for XState, as a Mermaid diagram, or as SCXML',
      query: MachineQuery,
      answers: { 200: MachineAnswer },
      produces: ['text/plain', 'application/scxml+xml'],
      problems: ['not_found'],
      handle({ parameters: { name = '' }, query: { format } }) {
        const machine = machines.get(name)
        if (machine === undefined) {
          throw new Problem('not_found', 'There is no such machine; /api/machines lists their names.')
        }
        if (format === 'mermaid') {
          return { body: machineToMermaid(machine), type: 'text/plain; charset=utf-8' }
        }
        if (format === 'scxml') {
          return { body: machineToScxml(machine), type: 'application/scxml+xml; charset=utf-8' }
        }
        return { body: machineToJson(machine) }
      },
    }),
  ]
}
