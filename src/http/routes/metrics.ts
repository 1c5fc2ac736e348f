import { expositionType } from '../metrics/exposition.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { defineRoute, type Route } from '../route.ts'

export function metricsRoutes(metrics: Metrics): Route[] {
  return [
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
