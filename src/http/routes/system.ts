import { System } from '../../schema/system.ts'
import { defineRoute, type Route } from '../route.ts'

/** The host as a program: versions, broker, isolates, health. */
export function systemRoutes(system: () => System): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/system',
      summary: 'Versions, broker, isolates with memory and load, health',
      answers: { 200: System },
      handle: () => ({ body: system() }),
    }),
  ]
}
