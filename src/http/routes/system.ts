import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { LivenessAnswer, ReadinessAnswer, SafeModeAnswer, SafeModeBody } from '../../schema/api/api.ts'
import { System } from '../../schema/api/system.ts'
import { expositionType } from '../metrics/exposition.ts'
import { defineRoute, type Route } from '../route.ts'
import type { RouteSettings } from './all.ts'

/** The host as a program: health, versions, broker, isolates, safe mode, figures. */
export function systemRoutes(
  lifecycle: LifecycleFacade,
  {
    system,
    metrics,
    hostVersion,
    readiness,
  }: Pick<RouteSettings, 'system' | 'metrics' | 'hostVersion' | 'readiness'>,
): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/livez',
      summary: 'Whether the process answers',
      open: true,
      early: true,
      answers: { 200: LivenessAnswer },
      handle: () => ({ body: { status: 'ok', version: hostVersion } }),
    }),
    defineRoute({
      method: 'GET',
      path: '/readyz',
      summary: 'Whether the host does its work, and if not, why',
      open: true,
      early: true,
      answers: { 200: ReadinessAnswer, 503: ReadinessAnswer },
      handle() {
        const health = readiness()
        return { status: health.ready ? 200 : 503, body: { ...health, safeMode: lifecycle.safeMode } }
      },
    }),
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
    defineRoute({
      method: 'GET',
      path: '/metrics',
      summary: 'Figures for Prometheus',
      early: true,
      answers: { 200: null },
      produces: ['text/plain'],
      handle: async () => ({ body: await metrics.text(), type: expositionType }),
    }),
  ]
}
