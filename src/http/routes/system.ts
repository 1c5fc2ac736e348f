import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { SafeModeAnswer, SafeModeBody } from '../../schema/api/api.ts'
import { System } from '../../schema/api/system.ts'
import { defineRoute, type Route } from '../route.ts'

/** The host as a program: versions, broker, isolates, health, safe mode. */
export function systemRoutes(lifecycle: LifecycleFacade, system: () => Promise<System>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/system',
      summary: 'Versions, broker, isolates with memory and load, health',
      answers: { 200: System },
      handle: async () => ({ body: await system() }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/system/safe-mode',
      summary: 'Leaves safe mode: loads every enabled plugin; without it, nothing happens',
      body: SafeModeBody,
      answers: { 200: SafeModeAnswer },
      problems: ['shutting_down', 'storage_full'],
      async handle({ requestKey }) {
        await lifecycle.leaveSafeMode({ by: 'http', requestKey })
        return { body: { safeMode: lifecycle.safeMode } }
      },
    }),
  ]
}
