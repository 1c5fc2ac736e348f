import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import { LivenessAnswer, ReadinessAnswer } from '../../schema/api/api.ts'
import { defineRoute, type Route } from '../route.ts'

export function healthRoutes({
  lifecycle,
  hostVersion,
  readiness,
}: {
  lifecycle: LifecycleFacade
  hostVersion: string
  readiness: () => { ready: boolean; reasons: string[] }
}): Route[] {
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
        const { ready, reasons } = readiness()
        return { status: ready ? 200 : 503, body: { ready, reasons, safeMode: lifecycle.safeMode } }
      },
    }),
  ]
}
