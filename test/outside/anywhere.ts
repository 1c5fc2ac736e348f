import type { HttpAllowance } from '../../src/outside/http/http-client.ts'
import { defaultPluginLimits } from '../../src/schema/plugin/plugin-limits.ts'

/** A plugin whose manifest lists every address, and that has the limits of every plugin. */
export const anywhere: HttpAllowance = {
  connect: () => undefined,
  httpRequests: defaultPluginLimits.httpRequests,
}
