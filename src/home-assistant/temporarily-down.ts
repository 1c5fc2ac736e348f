import type { Lifecycle } from '../lifecycle/lifecycle.ts'

/**
 * Whether a plugin that does not run now is going to run again by itself: Home Assistant must not forget the device, and the name and
 * the room that it was given.
 */
export function isTemporarilyDown(lifecycle: Pick<Lifecycle, 'status' | 'get'>, id: string): boolean {
  const status = lifecycle.status(id)
  if (status?.enabled !== true) return false
  if (status.state !== 'failed') return true
  // One that has just got another version is loaded next; in the trial of an update the version before returns.
  const { error, restart, trial } = lifecycle.get(id)
  return error?.code === 'not_loaded' || restart !== null || trial !== null
}
