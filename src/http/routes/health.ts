import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { LivenessAnswer, ReadinessAnswer } from '../../schema/api/api.ts'
import type { Health } from '../../schema/api/system.ts'
import { defineRoute, type Route } from '../route.ts'

export function healthRoutes(
  lifecycle: LifecycleFacade,
  hostVersion: string,
  readiness: () => Health,
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
  ]
}
